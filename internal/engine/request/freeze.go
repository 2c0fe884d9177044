package request

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Freeze freezes local jobs that are over (Ganga, freeze): until they are unfrozen, no other command and no rule
// changes them. It returns an answer for each reference, in order. The status of the grid job is not computed again.
// plan.Freeze decides about each local job. With DryRun nothing changes.
func (ws *Requests) Freeze(ctx context.Context, caller wire.Caller, r wire.FreezeRequest) (wire.FreezeAnswer, error) {
	f := freezer{ws: ws, caller: caller, done: "frozen", none: "no local job is to be frozen",
		decide: plan.Freeze, dry: r.DryRun,
		change: func(ctx context.Context, apply func(*state.Change) error) error {
			return ws.s.Change(ctx, "freeze", apply)
		},
		meant: func(l *jjm.LocalJob) bool { return l.State.Final() && l.Phase != jjm.GivenBack }}
	return wire.FreezeAnswer{Freeze: f.all(ctx, r.Jobs)}, nil
}

// Unfreeze ends the freeze of local jobs. It returns an answer for each reference, in order. plan.Unfreeze decides
// about each local job. With DryRun nothing changes.
func (ws *Requests) Unfreeze(ctx context.Context, caller wire.Caller, r wire.UnfreezeRequest) (wire.UnfreezeAnswer,
	error) {
	f := freezer{ws: ws, caller: caller, done: "unfrozen", none: "no local job is frozen",
		decide: plan.Unfreeze, dry: r.DryRun,
		change: func(ctx context.Context, apply func(*state.Change) error) error {
			return ws.s.Change(ctx, "unfreeze", apply)
		},
		meant: func(l *jjm.LocalJob) bool { return l.State.IsFrozen() && l.Phase != jjm.GivenBack }}
	return wire.UnfreezeAnswer{Unfreeze: f.all(ctx, r.Jobs)}, nil
}

// freezer freezes or unfreezes local jobs.
type freezer struct {
	ws     *Requests
	caller wire.Caller
	done   string // "frozen" or "unfrozen"
	none   string // what an answer says that changes nothing, see plan.Unchanged
	// change makes a change of the state under its own name.
	change func(context.Context, func(*state.Change) error) error
	// decide returns the new state of a local job, or why the local job is not changed. meant reports whether a reference
	// to the whole grid job includes a local job.
	decide func(*jjm.LocalJob) (jjm.State, string)
	meant  func(*jjm.LocalJob) bool
	dry    bool
}

func (f *freezer) all(ctx context.Context, refs []jjm.Ref) []wire.Frozen {
	out := make([]wire.Frozen, len(refs))
	for i, ref := range refs {
		one, err := f.one(ctx, ref)
		if err != nil {
			one = wire.Frozen{Error: wire.ErrorOf(err)}
		}
		one.Ref, one.NoChange = ref.String(), err == nil && one.Jobs == 0
		out[i] = one
	}
	return out
}

func (f *freezer) one(ctx context.Context, ref jjm.Ref) (out wire.Frozen, err error) {
	job, err := f.ws.s.Find(ctx, f.caller, ref.Grid)
	if err != nil {
		return out, err
	}
	if job.Status.Final() {
		return out, jjm.Errorf(jjm.Conflict, "grid job %s is %s: only local jobs of a grid job that goes on are %s; "+
			"jjm resubmit runs again only the local jobs that it names", ref.Grid, job.Status, f.done)
	}
	err = f.change(ctx, func(c *state.Change) error {
		if out, err = f.jobs(c, ref); err != nil {
			return err
		}
		if f.dry {
			return state.ErrDryRun
		}
		return nil
	})
	return out, unlessDry(err)
}

// jobs changes the local jobs that ref selects. The error is of kind Gone if ref selects no local job, and of kind
// Conflict if none of the selected local jobs can be changed. It is an error of mayChange if the state of the grid job
// forbids any change.
func (f *freezer) jobs(c *state.Change, ref jjm.Ref) (out wire.Frozen, err error) {
	g := c.Live.Grid(ref.Grid)
	if err := mayChange(g, ref.Grid); err != nil {
		return out, err
	}
	named := ref.Locals && ref.Last >= 0
	known, same := !named, 0
	for i := range g.Locals {
		l := &g.Locals[i]
		if ref.Locals && !ref.Has(l.ID.N) || !named && !f.meant(l) {
			continue
		}
		known = true
		switch to, why := f.decide(l); {
		case why != "":
			out.Left, out.LeftOut = left(out.Left, out.LeftOut, l.ID, why)
		case to == l.State:
			same++
		default:
			out.Jobs++
			f.move(c, c.Local(l.ID), to)
		}
	}
	switch {
	case !known:
		return out, jjm.Errorf(jjm.Gone, "%s: the grid job has no such local job", ref)
	case out.Jobs+same == 0 && len(out.Left) > 0:
		return out, jjm.Errorf(jjm.Conflict, "local job %s: %s", out.Left[0].Local, out.Left[0].Why)
	case out.Jobs+len(out.Left) == 0:
		out.Notes = unchanged(&g.Job, g, ref, f.none)
	}
	return out, nil
}

// move changes the state of a local job, and keeps its phase and its message.
func (f *freezer) move(c *state.Change, l *jjm.LocalJob, to jjm.State) {
	c.Move(l, to, l.Phase, f.done+" by "+f.caller.Actor())
	c.Journal[len(c.Journal)-1].Actor = f.caller.Actor()
}
