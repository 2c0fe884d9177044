package request

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Release releases held local jobs. It returns an answer for each reference, in order. If nothing is
// held, it changes nothing and returns no error.
//
//	held by its application, or cancelled   the next attempt is made, with the arguments that the
//	in the batch system (state held)        application requested (GBS), or the arguments of the request
//	held by a person                        the attempt begins before which the local job was held
//	being taken back for a person's hold    the next attempt no longer waits
//	held by the batch system                the batch job is released there
//
// With DryRun nothing changes.
func (ws *Requests) Release(ctx context.Context, caller wire.Caller, r wire.ReleaseRequest) (wire.ReleaseAnswer,
	error) {
	out := make([]wire.Released, len(r.Jobs))
	for i, ref := range r.Jobs {
		one, err := ws.releaseOne(ctx, caller, ref, r.ReleaseHow)
		if err != nil {
			one = wire.Released{Error: wire.ErrorOf(err)}
		}
		one.Ref, one.NoChange = ref.String(), err == nil && one.Jobs == 0
		out[i] = one
	}
	return wire.ReleaseAnswer{Release: out}, nil
}

func (ws *Requests) releaseOne(ctx context.Context, caller wire.Caller, ref jjm.Ref, how wire.ReleaseHow) (
	out wire.Released, err error) {
	job, err := ws.s.Find(ctx, caller, ref.Grid)
	if err != nil {
		return out, err
	}
	const none = "no local job is held"
	if out.Notes = unchanged(&job, nil, ref, none); job.Status.Final() || job.Kill {
		return out, nil
	}
	known := !ref.Locals || ref.Last < 0
	err = ws.s.Change(ctx, "release-held", func(c *state.Change) error {
		g := c.Live.Grid(ref.Grid)
		if out.Notes = unchanged(&job, g, ref, none); g == nil || g.Job.Kill {
			return nil
		}
		re := releaser{c: c, actor: caller.Actor(), args: how.Args, out: &out,
			by: "released by " + caller.Actor() + plan.WithWords(how.Args)}
		for i := range g.Locals {
			if l := &g.Locals[i]; !ref.Locals || ref.Has(l.ID.N) {
				known = true
				re.release(l)
			}
		}
		if !known {
			return jjm.Errorf(jjm.Gone, "%s: the grid job has no such local job", ref)
		}
		if out.Jobs+len(out.Left) > 0 {
			out.Notes = nil
		}
		if how.DryRun {
			return state.ErrDryRun
		}
		return nil
	})
	return out, unlessDry(err)
}

// releaser releases local jobs of one grid job in a change, and counts the released local jobs in out. args replace the
// retry arguments; if args is empty, the retry arguments are kept.
type releaser struct {
	c         *state.Change
	by, actor string
	args      []string
	out       *wire.Released
}

// release stores the release of one local job if the local job is held. A held local job that cannot take args stays
// held, and is added to the local jobs left in the answer.
func (re *releaser) release(live *jjm.LocalJob) {
	how, not := plan.PersonRelease(live, len(re.args) > 0)
	if how == plan.ReleaseNone {
		if not != "" {
			re.out.Left, re.out.LeftOut = left(re.out.Left, re.out.LeftOut, live.ID, not)
		}
		return
	}
	re.out.Jobs++
	l := re.c.Local(live.ID)
	switch how {
	case plan.ReleaseHeld:
		re.next(l)
	case plan.ReleaseBatch:
		h := *l.Holding
		h.Action = "" // a person's release replaces the decision of a rule
		h = plan.Decided(h, plan.HoldStep{Action: jjm.HoldRelease, Why: re.by}, re.actor)
		l.Holding = &h
		re.c.Aside(l, re.by, re.actor)
		re.c.Releases = append(re.c.Releases, l.AttemptID())
	case plan.ReleaseLater:
		l.Holding = plan.Resumed(l.Holding, re.by, re.actor)
		re.c.Aside(l, re.by, re.actor)
	}
}

// next moves a local job in state held to its next attempt. If a person held the local job before an attempt, that
// attempt is the next attempt.
func (re *releaser) next(l *jjm.LocalJob) {
	to, phase := jjm.Submitting, jjm.RetryWait
	l.Holding, l.NotBefore = plan.HoldNext(l.Holding), re.c.Now
	switch {
	case l.Phase != jjm.HeldByPerson:
		l.Attempt++
		l.Message = ""
	case l.Attempt == 0:
		to, phase, l.NotBefore = jjm.New, "", 0
	}
	if len(re.args) > 0 {
		l.RetryArgs = re.args
	}
	re.c.Move(l, to, phase, re.by)
	re.c.Journal[len(re.c.Journal)-1].Actor = re.actor
}
