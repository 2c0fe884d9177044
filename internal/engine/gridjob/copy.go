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
	out, what := wire.Copied{Of: ref.Grid}, "grid job "+ref.Grid.String()
	if ref.Locals {
		id := jjm.LocalID{Grid: ref.Grid, N: ref.First}
		if old.Spec, err = js.rooms.Prover.Excerpt(ctx, &old, id); err != nil {
			return wire.CopyAnswer{}, err
		}
		out.Local, what = id.String(), "local job "+id.String()
	}
	text, problems := jobfile.Copy(old.Spec, how.Set)
	if len(problems) > 0 {
		return wire.CopyAnswer{}, problems.Err()
	}
	if out.Submitted, err = submitCopy(ctx, js, caller, &old, text, how, what); how.DryRun {
		out.JobFile = string(text)
	}
	return wire.CopyAnswer{Copied: &out}, err
}

// submitCopy submits the job file of a copy. old is the original; what names the original, or the local job of it that
// is copied.
func submitCopy(ctx context.Context, js *Jobs, caller wire.Caller, old *jjm.GridJob, text []byte, how wire.CopyHow,
	what string) (wire.Submitted, error) {
	if err := js.b.MayRun(caller); err != nil {
		return wire.Submitted{}, err
	}
	req := &wire.Submit{BaseDir: old.BaseDir, Key: how.Key, Credentials: how.Credentials, DryRun: how.DryRun,
		Rollback: how.Rollback}
	doc, problems := jobfile.ParseCopy(text, givenWith(req, js.b.Deps.Model))
	if doc.Incomplete {
		return wire.Submitted{}, problems.Err()
	}
	doc.Spec.Model = old.Spec.Model
	sub := newSubmission(caller, req, doc)
	sub.why = "accepted: " + doc.Spec.Type + ", a copy of " + what
	return js.submit(ctx, sub, problems)
}
