package request

import (
	"context"
	"errors"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Kill stores that grid jobs or local jobs are to be killed. It returns an answer for each reference, in order. The
// loops of other packages do the remaining work: they take claims, cancel batch jobs, store verdicts and make the tar.
// Ended jobs are left unchanged, without an error (decision R13). With Stop, it attempts no further reference after the
// first error (ganga.md 6, keep_going false).
func (ws *Requests) Kill(ctx context.Context, caller wire.Caller, r wire.KillRequest) (wire.KillAnswer, error) {
	o := order{caller: caller, first: r.First, dry: r.DryRun}
	out := make([]wire.Killed, len(r.Jobs))
	var failed error
	for i, ref := range r.Jobs {
		out[i].Ref = ref.String()
		if failed != nil {
			out[i].Error = wire.ErrorOf(failed)
			continue
		}
		n, none, err := ws.killOne(ctx, o, ref)
		out[i].NoChange, out[i].Notes, out[i].Error = none != nil, none, wire.ErrorOf(err)
		if o.dry {
			out[i].Jobs = n
		}
		if err != nil && r.Stop {
			failed = wire.NotAttempted(ref.String())
		}
	}
	return wire.KillAnswer{Kill: out}, nil
}

// order holds the settings of a request to kill. With dry nothing changes. With first, a grid job whose first
// generation has ended counts as ended, because gatekeepers know only the first generation.
type order struct {
	caller     wire.Caller
	first, dry bool
}

// killOne kills the jobs of one reference, and returns the number of local jobs that are killed. If there is nothing to
// kill, none has the reason.
func (ws *Requests) killOne(ctx context.Context, o order, ref jjm.Ref) (n int, none []string, err error) {
	job, gone, err := ws.s.Kept(ctx, o.caller, ref.Grid)
	if err != nil {
		return 0, nil, err
	}
	if told := job.Told(); o.first && told.Status.Final() {
		return 0, unchanged(&told, nil, ref, ""), nil
	}
	if gone != nil {
		return 0, nil, gone.Err()
	}
	if job.Status.Final() {
		if err := ws.notReopened(ref.Grid); err != nil {
			return 0, nil, err
		}
		return 0, unchanged(&job, nil, ref, ""), nil
	}
	if ref.Locals {
		n, none, err = ws.killRange(ctx, o, ref)
		if err == nil && n > 0 && !o.dry {
			ws.halt(context.WithoutCancel(ctx), ref.Grid)
		}
		return n, none, err
	}
	err = ws.s.Change(ctx, "kill", func(c *state.Change) error {
		g := c.Live.Grid(ref.Grid)
		if n = live(g); g == nil || g.Job.Status.Final() || g.Job.Kill {
			none = unchanged(&job, g, ref, "grid job "+ref.Grid.String()+" has just ended")
			return nil
		}
		if o.dry {
			return state.ErrDryRun
		}
		row := c.Grid(ref.Grid)
		row.Kill, row.KillBy, row.Reason = true, o.caller.User, ""
		c.Status(row, jjm.Aborting, "kill requested", o.caller.Actor())
		return nil
	})
	if err == nil && none == nil {
		ws.halt(context.WithoutCancel(ctx), ref.Grid) // before the answer, so that no local job starts after the answer
	}
	return n, none, unlessDry(err)
}

// live returns how many local jobs of a grid job have not ended, 0 if the grid job is not in memory.
func live(g *state.Grid) int {
	if g == nil {
		return 0
	}
	return g.Live()
}

// unlessDry returns the error of a change, nil if the error only rolled a dry run back.
func unlessDry(err error) error {
	if errors.Is(err, state.ErrDryRun) {
		return nil
	}
	return err
}

// notReopened returns an error of kind Busy for an ended grid job that is about to run again.
func (ws *Requests) notReopened(id jjm.GridID) error {
	v := ws.s.View()
	defer v.Close()
	if r, open := v.Reopening(id); open {
		return jjm.Errorf(jjm.Busy, "grid job %s is being reopened by %s (%s): try again when it runs", id, r.Actor, r.Why)
	}
	return nil
}

// killRange marks some local jobs as to be killed; the grid job itself is not killed. n is the number of local jobs
// that it marks. If all had ended or were already marked, n is 0 and none has the reason.
func (ws *Requests) killRange(ctx context.Context, o order, ref jjm.Ref) (n int, none []string, err error) {
	known := false
	err = ws.s.Change(ctx, "kill-locals", func(c *state.Change) error {
		g := c.Live.Grid(ref.Grid)
		if g == nil {
			return nil
		}
		if err := allMade(g, ref); err != nil {
			return err
		}
		for i := ref.First; int(i) < len(g.Locals) && ref.Has(i); i++ {
			known = true
			if l := &g.Locals[i]; !l.State.Final() && !l.Kill {
				c.Kill(l.ID, o.caller.Actor())
				n++
			}
		}
		if n == 0 {
			none = unchanged(&g.Job, g, ref, "no local job goes on")
		}
		if o.dry {
			return state.ErrDryRun
		}
		return nil
	})
	if err := unlessDry(err); err != nil {
		return 0, nil, err
	}
	if !known {
		return 0, nil, jjm.Errorf(jjm.Gone, "%s: the grid job has no such local job", ref)
	}
	return n, none, nil
}

// allMade returns an error of kind Busy if some of the local jobs that ref selects are still to be made, because
// neither a kill nor a hold can be stored for local jobs that do not exist. It returns nil if the grid job is being
// killed, because no more local jobs are made then.
func allMade(g *state.Grid, ref jjm.Ref) error {
	step := &g.Job.Step
	switch {
	case step.Closed, g.Job.Kill, g.Failure() != "", ref.Last >= 0 && int(ref.Last) < step.Made:
		return nil
	case step.Expected > 0 && int(ref.First) >= step.Expected:
		return nil // the caller reports that the local job does not exist
	}
	of := ""
	if step.Expected > 0 {
		of = " of its " + base.Itoa(step.Expected)
	}
	return jjm.Errorf(jjm.Busy, "%s: grid job %s has made %d%s local jobs so far, so nothing was done: "+
		"try again when all are made, or name the whole grid job: %s", ref, ref.Grid, step.Made, of, ref.Grid)
}
