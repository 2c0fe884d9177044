package engine

import (
	"context"
	"jjm"
	"jjm/plan"
	"jjm/wire"
)

// Kill stores the wish to end grid jobs or local jobs and answers for each
// reference, in order. What follows - claims, cancels, verdicts, the tar -
// happens by itself. Killing what is over is a success without change
// (decision R13).
func (e *Engine) Kill(ctx context.Context, caller wire.Caller, refs []jjm.Ref) []wire.Killed {
	out := make([]wire.Killed, len(refs))
	for i, ref := range refs {
		noChange, err := e.killOne(ctx, caller, ref)
		out[i] = wire.Killed{Ref: ref.String(), NoChange: noChange, Error: wire.ErrorOf(err)}
	}
	return out
}

func (e *Engine) killOne(ctx context.Context, caller wire.Caller, ref jjm.Ref) (noChange bool, err error) {
	job, err := e.find(ctx, caller, ref.Grid)
	if err != nil {
		return false, err
	}
	if job.Status.Final() {
		return true, nil
	}
	if ref.Locals {
		return e.killRange(ctx, caller, ref)
	}
	err = e.change(ctx, "kill", func(c *change) error {
		g := c.grid(ref.Grid)
		if g == nil || g.Status.Final() || g.Kill {
			noChange = true
			return nil
		}
		g.Kill, g.KillBy = true, caller.User
		c.status(g, jjm.Aborting, "kill requested", caller.Actor())
		return nil
	})
	return noChange, err
}

// killRange kills some local jobs of a grid job that itself goes on.
func (e *Engine) killRange(ctx context.Context, caller wire.Caller, ref jjm.Ref) (noChange bool, err error) {
	noChange = true
	known := false
	err = e.change(ctx, "kill-locals", func(c *change) error {
		g := e.grids[ref.Grid]
		if g == nil {
			return nil
		}
		if err := allMade(g, ref); err != nil {
			return err
		}
		for n := ref.First; int(n) < len(g.locals) && ref.Has(n); n++ {
			known = true
			if l := &g.locals[n]; !l.State.Final() && !l.Kill {
				c.kill(l.ID, caller.Actor())
				noChange = false
			}
		}
		return nil
	})
	if err == nil && !known {
		err = jjm.Errorf(jjm.Gone, "%s: the grid job has no such local job", ref)
	}
	return noChange, err
}

// allMade refuses a wish about local jobs that are still to be made: it could only
// be forgotten, or be true of some. A grid job that is being killed makes no more.
func allMade(g *grid, ref jjm.Ref) error {
	step := &g.job.Step
	switch {
	case step.Closed, g.job.Kill, g.failure != "", ref.Last >= 0 && int(ref.Last) < step.Made:
		return nil
	case step.Expected > 0 && int(ref.First) >= step.Expected:
		return nil // such a one will never be
	}
	of := ""
	if step.Expected > 0 {
		of = " of its " + itoa(step.Expected)
	}
	return jjm.Errorf(jjm.Busy, "%s: grid job %s has made %d%s local jobs so far, so nothing was done: "+
		"try again when all are made, or mean the whole grid job: %s", ref, ref.Grid, step.Made, of, ref.Grid)
}

// kill marks one local job: over at once if no batch system can have it.
func (c *change) kill(id jjm.LocalID, by string) {
	l := c.local(id)
	l.Kill = true
	cause := "kill requested"
	if by != "" {
		cause += " by " + by
	}
	if l.IsMerging() {
		c.unmergedKills = append(c.unmergedKills, l)
		return
	}
	if inBatch := l.State.InBatch() && l.Phase != jjm.RetryWait && l.Tag != ""; inBatch {
		c.kills = append(c.kills, l.AttemptID())
		c.aside(l, cause, by)
		return
	}
	l.Ended, l.Message, l.Holding = c.now, cause, plan.HoldNext(l.Holding)
	c.move(l, jjm.Killed, jjm.ByPerson, cause)
}

// killLocals marks the next local jobs of a grid job that is to die.
func (e *Engine) killLocals(ctx context.Context, id jjm.GridID) error {
	return e.change(ctx, "kill-locals", func(c *change) error {
		g := e.grids[id]
		if g == nil {
			return nil
		}
		row := c.grid(id)
		row.Step.Closed = true
		if row.Merging != nil {
			m := *row.Merging
			m.Closed, row.Merging = true, &m
		}
		marked := 0
		for n := range g.locals {
			l := &g.locals[n]
			if l.State.Final() || l.Kill {
				continue
			}
			c.kill(l.ID, g.job.KillBy)
			if marked++; marked == e.chunk() {
				return nil
			}
		}
		return nil
	})
}
