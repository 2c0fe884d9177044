package gridjob

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
)

// Copy makes a new grid job from the request of an old grid job, with edits (Ganga, copy), however the old one ended.
// The new grid job is checked and accepted like a job file of the caller: paths are relative to the folder of the old
// grid job, and files are read as they are now. With DryRun nothing is stored.
//
// Only the owner may copy a grid job: the copy belongs to the caller, and would run commands that another person wrote.
func (js *Jobs) Copy(ctx context.Context, caller wire.Caller, r wire.CopyRequest) (wire.CopyAnswer, error) {
	id, how := r.Grid(), r.CopyHow
	old, err := js.s.Find(ctx, caller, id)
	if err != nil {
		return wire.CopyAnswer{}, err
	}
	if old.Owner.UID != caller.UID {
		return wire.CopyAnswer{}, jjm.Errorf(jjm.Denied,
			"grid job %s belongs to %s, and a copy would run as %s: only its owner "+
				"copies it", id, old.Owner.User, caller.User)
	}
	text, problems := jobfile.Copy(old.Spec, how.Set)
	if len(problems) > 0 {
		return wire.CopyAnswer{}, problems.Err()
	}
	made, err := js.submit(ctx, caller, wire.Submit{Text: string(text), BaseDir: old.BaseDir, Key: how.Key,
		Credentials: how.Credentials, DryRun: how.DryRun}, &old)
	out := wire.Copied{Of: id, Submitted: made}
	if how.DryRun {
		out.JobFile = string(text)
	}
	return wire.CopyAnswer{Copied: &out}, err
}

// parse reads the job file of a submission. of is the original grid job if the new grid job is a copy, else nil. model
// finds models.
func parse(req wire.Submit, of *jjm.GridJob, model func(string) (jobfile.Model, jjm.Problems)) (jobfile.Doc,
	jjm.Problems) {
	given := jobfile.Given{Key: req.Key, After: req.After, AfterEnd: req.AfterEnd, Model: model}
	if of == nil {
		return jobfile.ParseGiven(req.Name, []byte(req.Text), given)
	}
	doc, problems := jobfile.ParseCopy([]byte(req.Text), given)
	doc.Spec.Model = of.Spec.Model
	return doc, problems
}

// whence returns the cause of a new grid job for its history.
func whence(typ string, of *jjm.GridJob) string {
	if of == nil {
		return "accepted: " + typ
	}
	return "accepted: " + typ + ", a copy of grid job " + of.ID.String()
}
