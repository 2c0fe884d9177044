package wish

import (
	"context"

	"jjm"
	"jjm/engine/state"
	"jjm/plan"
	"jjm/wire"
)

// Release ends holds for a person and answers for each reference, in order: a
// local job that its application or a cancel in the batch system put on hold gets
// its next attempt with the arguments it asked for (GBS), one that its batch
// system holds is released there. That nothing is held is a success without
// change.
func (ws *Wishes) Release(ctx context.Context, caller wire.Caller, refs []jjm.Ref) []wire.Released {
	out := make([]wire.Released, len(refs))
	for i, ref := range refs {
		n, err := ws.releaseOne(ctx, caller, ref)
		out[i] = wire.Released{Ref: ref.String(), Jobs: n, NoChange: err == nil && n == 0, Error: wire.ErrorOf(err)}
	}
	return out
}

func (ws *Wishes) releaseOne(ctx context.Context, caller wire.Caller, ref jjm.Ref) (n int, err error) {
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
		return nil
	})
	return n, err
}

// letGo releases one local job and reports whether it was held.
func letGo(c *state.Change, live *jjm.LocalJob, caller wire.Caller) bool {
	by := "released by " + caller.Actor()
	switch {
	case live.Kill:
	case live.State == jjm.Held:
		l := c.Local(live.ID)
		l.Holding = plan.HoldNext(l.Holding)
		l.Attempt, l.NotBefore, l.Message = l.Attempt+1, c.Now, ""
		c.Move(l, jjm.Submitting, jjm.RetryWait, by)
		c.Journal[len(c.Journal)-1].Actor = caller.Actor()
		return true
	case live.State == jjm.Submitted && live.Phase == jjm.BatchHeld && live.Holding.Now() && !live.Holding.GivenUp():
		h := *live.Holding
		h.Action = "" // of a rule: the person outranks it
		h = plan.Decided(h, plan.HoldStep{Action: jjm.HoldRelease, Why: by}, caller.Actor())
		l := c.Local(live.ID)
		l.Holding = &h
		c.Aside(l, by, caller.Actor())
		c.Frees = append(c.Frees, l.AttemptID())
		return true
	}
	return false
}
