package wish

import (
	"context"

	"jjm"
	"jjm/engine/base"
	"jjm/engine/state"
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
				c.Kill(l.ID, caller.Actor())
				noChange = false
			}
		}
		return nil
	})
	if err != nil {
		return noChange, err
	}
	if !known {
		return noChange, jjm.Errorf(jjm.Gone, "%s: the grid job has no such local job", ref)
	}
	return noChange, nil
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
