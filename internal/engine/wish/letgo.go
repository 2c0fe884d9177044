package wish

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
//	in the batch system (state held)        application asked for (GBS)
//	held by a person                        it goes on to the attempt before which it was held
//	being taken back for a person's hold    the next attempt no longer waits
//	held by the batch system                the batch job is released there
//
// With DryRun nothing changes.
func (ws *Wishes) Release(ctx context.Context, caller wire.Caller, r wire.ReleaseRequest) (wire.ReleaseAnswer, error) {
	out := make([]wire.Released, len(r.Jobs))
	for i, ref := range r.Jobs {
		n, err := ws.releaseOne(ctx, caller, ref, r.DryRun)
		out[i] = wire.Released{Ref: ref.String(), Jobs: n, NoChange: err == nil && n == 0, Error: wire.ErrorOf(err)}
	}
	return wire.ReleaseAnswer{Release: out}, nil
}

func (ws *Wishes) releaseOne(ctx context.Context, caller wire.Caller, ref jjm.Ref, dry bool) (n int, err error) {
	job, err := ws.s.Find(ctx, caller, ref.Grid)
	if err != nil {
		return 0, err
	}
	if job.Status.Final() || job.Kill {
		return 0, nil
	}
	known := !ref.Locals || ref.Last < 0
	err = ws.s.Change(ctx, "release-held", func(c *state.Change) error {
		g := c.Live.Grid(ref.Grid)
		if g == nil || g.Job.Kill {
			return nil
		}
		for i := range g.Locals {
			if l := &g.Locals[i]; !ref.Locals || ref.Has(l.ID.N) {
				known = true
				if letGo(c, l, caller) {
					n++
				}
			}
		}
		if !known {
			return jjm.Errorf(jjm.Gone, "%s: the grid job has no such local job", ref)
		}
		if dry {
			return state.ErrDryRun
		}
		return nil
	})
	return n, unlessDry(err)
}

// letGo stores the release of one local job. It returns true if the local job was held.
func letGo(c *state.Change, live *jjm.LocalJob, caller wire.Caller) bool {
	by := "released by " + caller.Actor()
	switch {
	case live.Kill:
	case live.State == jjm.Held && live.Phase == jjm.HeldByPerson: // before an attempt, which keeps its number
		l := c.Local(live.ID)
		l.Holding, l.NotBefore = plan.HoldNext(l.Holding), c.Now
		to, phase := jjm.Submitting, jjm.RetryWait
		if l.Attempt == 0 {
			to, phase, l.NotBefore = jjm.New, "", 0
		}
		c.Move(l, to, phase, by)
		c.Journal[len(c.Journal)-1].Actor = caller.Actor()
		return true
	case live.Holding.Keeps() && live.State.InBatch():
		l := c.Local(live.ID)
		l.Holding = plan.Resumed(l.Holding, by, caller.Actor())
		c.Aside(l, by, caller.Actor())
		return true
	case live.State == jjm.Held:
		l := c.Local(live.ID)
		l.Holding = plan.HoldNext(l.Holding)
		l.Attempt, l.NotBefore, l.Message = l.Attempt+1, c.Now, ""
		c.Move(l, jjm.Submitting, jjm.RetryWait, by)
		c.Journal[len(c.Journal)-1].Actor = caller.Actor()
		return true
	case live.State == jjm.Submitted && live.Phase == jjm.BatchHeld && live.Holding.Now() && !live.Holding.GivenUp():
		h := *live.Holding
		h.Action = "" // a person's release replaces the decision of a rule
		h = plan.Decided(h, plan.HoldStep{Action: jjm.HoldRelease, Why: by}, caller.Actor())
		l := c.Local(live.ID)
		l.Holding = &h
		c.Aside(l, by, caller.Actor())
		c.Releases = append(c.Releases, l.AttemptID())
		return true
	}
	return false
}
