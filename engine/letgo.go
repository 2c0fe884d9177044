package engine

import (
	"context"
	"jjm"
	"jjm/plan"
	"jjm/wire"
)

// Release ends holds for a person and answers for each reference, in order: a
// local job that its application or a cancel in the batch system put on hold gets
// its next attempt with the arguments it asked for (GBS), one that its batch
// system holds is released there. That nothing is held is a success without
// change.
func (e *Engine) Release(ctx context.Context, caller wire.Caller, refs []jjm.Ref) []wire.Released {
	out := make([]wire.Released, len(refs))
	for i, ref := range refs {
		n, err := e.releaseOne(ctx, caller, ref)
		out[i] = wire.Released{Ref: ref.String(), Jobs: n, NoChange: err == nil && n == 0, Error: wire.ErrorOf(err)}
	}
	return out
}

func (e *Engine) releaseOne(ctx context.Context, caller wire.Caller, ref jjm.Ref) (n int, err error) {
	job, err := e.find(ctx, caller, ref.Grid)
	if err != nil {
		return 0, err
	}
	if job.Status.Final() || job.Kill {
		return 0, nil
	}
	known := !ref.Locals || ref.Last < 0
	err = e.change(ctx, "release-held", func(c *change) error {
		g := e.grids[ref.Grid]
		if g == nil || g.job.Kill {
			return nil
		}
		for i := range g.locals {
			if l := &g.locals[i]; !ref.Locals || ref.Has(l.ID.N) {
				known = true
				if c.letGo(l, caller) {
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
func (c *change) letGo(live *jjm.LocalJob, caller wire.Caller) bool {
	by := "released by " + caller.Actor()
	switch {
	case live.Kill:
	case live.State == jjm.Held:
		l := c.local(live.ID)
		l.Holding = plan.HoldNext(l.Holding)
		l.Attempt, l.NotBefore, l.Message = l.Attempt+1, c.now, ""
		c.move(l, jjm.Submitting, jjm.RetryWait, by)
		c.journal[len(c.journal)-1].Actor = caller.Actor()
		return true
	case live.State == jjm.Submitted && live.Phase == jjm.BatchHeld && live.Holding.Now() && !live.Holding.GivenUp():
		h := *live.Holding
		h.Deed = "" // of a rule: the person outranks it
		h = plan.Decided(h, plan.HoldStep{Deed: jjm.HoldRelease, Why: by}, caller.Actor())
		l := c.local(live.ID)
		l.Holding = &h
		c.aside(l, by, caller.Actor())
		c.frees = append(c.frees, l.AttemptID())
		return true
	}
	return false
}
