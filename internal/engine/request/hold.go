package request

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// mostLeft is the greatest number of unchanged local jobs that an answer names.
const mostLeft = 20

// Hold holds local jobs for a person until they are released. It returns an answer for each reference, in order.
//
//	new, or waiting for its next attempt   the local job is held in this change
//	queued in the batch system             the attempt is taken back unless it starts meanwhile
//	running                                the attempt continues; a next attempt, if any, is held
//
// With DryRun nothing changes.
func (ws *Requests) Hold(ctx context.Context, caller wire.Caller, r wire.HoldRequest) (wire.HoldAnswer, error) {
	out := make([]wire.Held, len(r.Jobs))
	for i, ref := range r.Jobs {
		held, err := ws.holdOne(ctx, caller, ref, r.HoldHow)
		if err != nil {
			held = wire.Held{Error: wire.ErrorOf(err)}
		}
		held.Ref, held.NoChange = ref.String(), err == nil && held.Jobs+held.Later == 0
		out[i] = held
	}
	return wire.HoldAnswer{Hold: out}, nil
}

func (ws *Requests) holdOne(ctx context.Context, caller wire.Caller, ref jjm.Ref, how wire.HoldHow) (out wire.Held,
	err error) {
	job, err := ws.s.Find(ctx, caller, ref.Grid)
	if err != nil {
		return out, err
	}
	if job.Status.Final() {
		return out, jjm.Errorf(jjm.Conflict, "grid job %s is over (%s): there is nothing to hold", ref.Grid, job.Status)
	}
	err = ws.s.Change(ctx, "hold-request", func(c *state.Change) error {
		g := c.Live.Grid(ref.Grid)
		if err := holdable(g, ref); err != nil {
			return err
		}
		h := holder{c: c, caller: caller, reason: how.Reason, out: &out}
		known := !ref.Locals || ref.Last < 0
		for i := range g.Locals {
			if l := &g.Locals[i]; !ref.Locals || ref.Has(l.ID.N) {
				known = true
				h.hold(l, ref)
			}
		}
		if !known {
			return jjm.Errorf(jjm.Gone, "%s: the grid job has no such local job", ref)
		}
		if out.Jobs+out.Later+len(out.Left) == 0 {
			out.Notes = unchanged(&job, g, ref, "no local job can be held")
		}
		if how.DryRun {
			return state.ErrDryRun
		}
		return nil
	})
	return out, unlessDry(err)
}

// holdable returns an error if the local jobs that ref selects cannot be held, because the grid job ends or some of the
// local jobs are still to be made.
func holdable(g *state.Grid, ref jjm.Ref) error {
	switch {
	case g == nil || g.Job.Status.Final():
		return jjm.Errorf(jjm.Conflict, "grid job %s has just ended: there is nothing to hold", ref.Grid)
	case g.Job.Kill:
		return jjm.Errorf(jjm.Conflict, "grid job %s is being killed", ref.Grid)
	case ref.Locals && ref.Last >= 0:
		return allMade(g, ref)
	case !g.Job.Step.Closed && g.Failure() == "":
		return jjm.Errorf(jjm.Busy, "grid job %s has made %s so far and makes more, so nothing was done: try again when all "+
			"are made, or pause the grid job: jjm pause job %[1]s", ref.Grid, jjm.Count(g.Job.Step.Made, "local job"))
	}
	return nil
}

// holder holds local jobs of one grid job in a change, and counts the outcomes in out.
type holder struct {
	c      *state.Change
	caller wire.Caller
	reason string
	out    *wire.Held
}

// hold holds one local job, or notes why the local job is not held. It notes local jobs that are over only if ref names
// local jobs.
func (h *holder) hold(live *jjm.LocalJob, ref jjm.Ref) {
	at, not := plan.PersonHold(live)
	if at == plan.HoldNever {
		h.leave(live, not, ref)
		return
	}
	why, actor := h.caller.Actor(), h.caller.Actor()
	if h.reason != "" {
		why += ": " + h.reason
	}
	l := h.c.Local(live.ID)
	if at == plan.HoldNow {
		h.out.Jobs++
		l.Holding = plan.HeldNow(l.Holding, why, actor, h.c.Now)
		if l.Attempt > 0 {
			l.NotBefore = h.c.Now // shows later that this attempt has not begun
		}
		h.c.Move(l, jjm.Held, jjm.HeldByPerson, "held by "+why)
		h.c.Journal[len(h.c.Journal)-1].Actor = actor
		return
	}
	l.Holding = plan.Kept(l.Holding, why, actor)
	h.c.Aside(l, "to be held by "+why, actor)
	if at == plan.HoldLater {
		h.out.Later++
		return
	}
	h.out.Jobs++
	h.c.Kills = append(h.c.Kills, l.AttemptID())
}

// leave notes a local job that is not changed.
func (h *holder) leave(l *jjm.LocalJob, why string, ref jjm.Ref) {
	if !l.Over() || ref.Locals && ref.Last >= 0 {
		h.out.Left, h.out.LeftOut = left(h.out.Left, h.out.LeftOut, l.ID, why)
	}
}

// left adds a local job that stays as it is to the local jobs that an answer names. If mostLeft are named already, it
// only counts the local job.
func left(named []wire.Left, more int, id jjm.LocalID, why string) ([]wire.Left, int) {
	if len(named) == mostLeft {
		return named, more + 1
	}
	return append(named, wire.Left{Local: id.String(), Why: why}), more
}
