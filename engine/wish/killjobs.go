package wish

import (
	"context"

	"jjm"
	"jjm/engine/base"
	"jjm/engine/state"
	"jjm/plan"
	"jjm/wire"
)

// Kill stores the wish to end grid jobs or local jobs and answers for each
// reference, in order. What follows - claims, cancels, verdicts, the tar -
// happens by itself. Killing what is over is a success without change
// (decision R13).
func (ws *Wishes) Kill(ctx context.Context, caller wire.Caller, refs []jjm.Ref) []wire.Killed {
	out := make([]wire.Killed, len(refs))
	for i, ref := range refs {
		noChange, err := ws.killOne(ctx, caller, ref)
		out[i] = wire.Killed{Ref: ref.String(), NoChange: noChange, Error: wire.ErrorOf(err)}
	}
	return out
}

func (ws *Wishes) killOne(ctx context.Context, caller wire.Caller, ref jjm.Ref) (noChange bool, err error) {
	job, err := ws.s.Find(ctx, caller, ref.Grid)
	if err != nil {
		return false, err
	}
	if job.Status.Final() {
		return true, nil
	}
	if ref.Locals {
		return ws.killRange(ctx, caller, ref)
	}
	err = ws.s.Change(ctx, "kill", func(c *state.Change) error {
		g := c.Grid(ref.Grid)
		if g == nil || g.Status.Final() || g.Kill {
			noChange = true
			return nil
		}
		g.Kill, g.KillBy = true, caller.User
		c.Status(g, jjm.Aborting, "kill requested", caller.Actor())
		return nil
	})
	return noChange, err
}

// killRange kills some local jobs of a grid job that itself goes on.
func (ws *Wishes) killRange(ctx context.Context, caller wire.Caller, ref jjm.Ref) (noChange bool, err error) {
	noChange = true
	known := false
	err = ws.s.Change(ctx, "kill-locals", func(c *state.Change) error {
		g := c.Live.Grid(ref.Grid)
		if g == nil {
			return nil
		}
		if err := allMade(g, ref); err != nil {
			return err
		}
		for n := ref.First; int(n) < len(g.Locals) && ref.Has(n); n++ {
			known = true
			if l := &g.Locals[n]; !l.State.Final() && !l.Kill {
				kill(c, l.ID, caller.Actor())
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
func allMade(g *state.Grid, ref jjm.Ref) error {
	step := &g.Job.Step
	switch {
	case step.Closed, g.Job.Kill, g.Failure() != "", ref.Last >= 0 && int(ref.Last) < step.Made:
		return nil
	case step.Expected > 0 && int(ref.First) >= step.Expected:
		return nil // such a one will never be
	}
	of := ""
	if step.Expected > 0 {
		of = " of its " + base.Itoa(step.Expected)
	}
	return jjm.Errorf(jjm.Busy, "%s: grid job %s has made %d%s local jobs so far, so nothing was done: "+
		"try again when all are made, or mean the whole grid job: %s", ref, ref.Grid, step.Made, of, ref.Grid)
}

// kill marks one local job: over at once if no batch system can have it.
func kill(c *state.Change, id jjm.LocalID, by string) {
	l := c.Local(id)
	l.Kill = true
	cause := "kill requested"
	if by != "" {
		cause += " by " + by
	}
	if l.IsMerging() {
		c.UnmergedKills = append(c.UnmergedKills, l)
		return
	}
	if inBatch := l.State.InBatch() && l.Phase != jjm.RetryWait && l.Tag != ""; inBatch {
		c.Kills = append(c.Kills, l.AttemptID())
		c.Aside(l, cause, by)
		return
	}
	l.Ended, l.Message, l.Holding = c.Now, cause, plan.HoldNext(l.Holding)
	c.Move(l, jjm.Killed, jjm.ByPerson, cause)
}

// KillLocals marks the next local jobs of a grid job that is to die.
func (ws *Wishes) KillLocals(ctx context.Context, id jjm.GridID) error {
	return ws.s.Change(ctx, "kill-locals", func(c *state.Change) error {
		g := c.Live.Grid(id)
		if g == nil {
			return nil
		}
		row := c.Grid(id)
		row.Step.Closed = true
		if row.Merging != nil {
			m := *row.Merging
			m.Closed, row.Merging = true, &m
		}
		marked := 0
		for n := range g.Locals {
			l := &g.Locals[n]
			if l.State.Final() || l.Kill {
				continue
			}
			kill(c, l.ID, g.Job.KillBy)
			if marked++; marked == ws.b.Chunk() {
				return nil
			}
		}
		return nil
	})
}
