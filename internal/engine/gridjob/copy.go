package gridjob

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
)

// Copy makes a new grid job from the request of an old grid job, with edits (Ganga, copy). The old grid job may have
// any status. If the reference names a local job, the new grid job does only the work of that local job. The new grid
// job is checked and accepted like a job file of the caller: paths are relative to the folder of the old grid job, and
// files are read as they are now. With DryRun nothing is stored.
//
// Only the owner may copy a job: the copy belongs to the caller, and would run commands that another person wrote.
func (js *Jobs) Copy(ctx context.Context, caller wire.Caller, r wire.CopyRequest) (wire.CopyAnswer, error) {
	ref, how := r.Job(), r.CopyHow
	if ref.Locals && ref.First != ref.Last {
		return wire.CopyAnswer{}, jjm.Errorf(jjm.Invalid, "copy: %s names several local jobs: want one, such as %s.%d", ref,
			ref.Grid, ref.First)
	}
	old, err := js.s.Find(ctx, caller, ref.Grid)
	if err != nil {
		return wire.CopyAnswer{}, err
	}
	if old.Owner.UID != caller.UID {
		return wire.CopyAnswer{}, jjm.Errorf(jjm.Denied,
			"grid job %s belongs to %s, and a copy would run as %s: only its owner "+
				"copies it", ref.Grid, old.Owner.User, caller.User)
	}
	out, of := wire.Copied{Of: ref.Grid}, original{model: old.Spec.Model, what: "grid job " + ref.Grid.String()}
	if ref.Locals {
		id := jjm.LocalID{Grid: ref.Grid, N: ref.First}
		if old.Spec, err = js.rooms.Prover.Excerpt(ctx, &old, id); err != nil {
			return wire.CopyAnswer{}, err
		}
		out.Local, of.what = id.String(), "local job "+id.String()
	}
	text, problems := jobfile.Copy(old.Spec, how.Set)
	if len(problems) > 0 {
		return wire.CopyAnswer{}, problems.Err()
	}
	out.Submitted, err = js.submit(ctx, caller, wire.Submit{Text: string(text), BaseDir: old.BaseDir, Key: how.Key,
		Credentials: how.Credentials, DryRun: how.DryRun, Rollback: how.Rollback}, &of)
	if how.DryRun {
		out.JobFile = string(text)
	}
	return wire.CopyAnswer{Copied: &out}, err
}

// original describes the grid job or local job from which a new grid job is copied.
type original struct {
	what  string // "grid job 17" or "local job 17.3"
	model string // the model of its grid job
}

// parse reads the job file of a submission. of is the original if the new grid job is a copy, else nil. model returns
// the model with a given name.
func parse(req wire.Submit, of *original, model func(string) (jobfile.Model, jjm.Problems)) (jobfile.Doc,
	jjm.Problems) {
	given := jobfile.Given{Key: req.Key, After: req.After, AfterEnd: req.AfterEnd, KeepGoing: req.KeepGoing, Model: model}
	if of == nil {
		return jobfile.ParseGiven(req.Name, []byte(req.Text), given)
	}
	doc, problems := jobfile.ParseCopy([]byte(req.Text), given)
	doc.Spec.Model = of.model
	return doc, problems
}

// whence returns the cause with which the history of a new grid job begins: its type, and the original of a copy.
func whence(typ string, of *original) string {
	if of == nil {
		return "accepted: " + typ
	}
	return "accepted: " + typ + ", a copy of " + of.what
}
