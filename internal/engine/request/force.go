package request

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
	"jjm/internal/policy/plan"
)

// ForceStatus forces local jobs to failed or completed (Ganga, force_status; decision R8). It returns an answer for
// each reference, in order. A reference to a grid job or to several local jobs means all of its local jobs that can be
// forced. If none can be forced, the error of the reference is of kind Conflict. plan.Force decides about each local
// job.
func (ws *Requests) ForceStatus(ctx context.Context, caller wire.Caller, r wire.ForceStatusRequest) (
	wire.ForceStatusAnswer, error) {
	out := make([]wire.Forced, len(r.Jobs))
	for i, ref := range r.Jobs {
		f := force{ws: ws, caller: caller, how: r.ForceHow, to: r.State()}
		got, err := f.one(ctx, ref)
		if err != nil {
			got = wire.Forced{Error: wire.ErrorOf(err)}
		}
		got.Ref = ref.String()
		out[i] = got
	}
	return wire.ForceStatusAnswer{Forced: out}, nil
}

// force is one reference, and the state to which its local jobs are forced.
type force struct {
	ws     *Requests
	caller wire.Caller
	how    wire.ForceHow
	to     jjm.State
	out    wire.Forced
	// same is the number of local jobs that need no change.
	same int
	// cancels are functions that order cancels of batch jobs. They are called after the change. The local jobs have then
	// already ended for jjm: it does not wait for the end of the batch jobs.
	cancels []func()
}

func (f *force) one(ctx context.Context, ref jjm.Ref) (wire.Forced, error) {
	job, err := f.ws.s.Find(ctx, f.caller, ref.Grid)
	if err != nil {
		return f.out, err
	}
	if job.Status.Final() {
		return f.out, jjm.Errorf(jjm.Conflict, "grid job %s is %s, and its end was reported: jjm resubmit runs failed "+
			"local jobs again, jjm retract declares outputs lost", ref.Grid, job.Status)
	}
	err = f.ws.s.Change(ctx, "force-status", func(c *state.Change) error {
		if err := f.all(c, ref); err != nil {
			return err
		}
		if f.how.DryRun {
			return state.ErrDryRun
		}
		return nil
	})
	if err := unlessDry(err); err != nil {
		return f.out, err
	}
	f.out.NoChange = f.out.Jobs+f.out.Killing == 0
	if f.how.DryRun {
		return f.out, nil
	}
	if f.out.Killing > 0 {
		f.ws.halt(context.WithoutCancel(ctx), ref.Grid)
	}
	for _, cancel := range f.cancels {
		cancel()
	}
	return f.out, nil
}

// all forces the local jobs that ref selects. The error is of kind Gone if ref selects no local job, of kind Conflict
// if none of the local jobs can be forced, and of kind Busy or Conflict if the state of the grid job forbids to force
// any local job.
func (f *force) all(c *state.Change, ref jjm.Ref) error {
	g := c.Live.Grid(ref.Grid)
	if err := mayChange(g, ref.Grid); err != nil {
		return err
	}
	known := false
	for i := range g.Locals {
		l := &g.Locals[i]
		if ref.Locals && !ref.Has(l.ID.N) {
			continue
		}
		known = true
		if err := f.local(c, g, l); err != nil {
			return err
		}
	}
	switch {
	case !known:
		return jjm.Errorf(jjm.Gone, "%s: the grid job has no such local job", ref)
	case f.out.Jobs+f.out.Killing+f.same == 0:
		return jjm.Errorf(jjm.Conflict, "%s", f.out.LeftWhy)
	case f.out.Jobs+f.out.Killing+f.out.Left == 0:
		f.out.Notes = unchanged(&g.Job, g, ref, "no local job is to be forced")
	}
	return nil
}

// mayChange returns an error if no local job of a grid job can be forced, frozen or unfrozen now: the grid job is over,
// is being killed, or its outputs are being collected.
func mayChange(g *state.Grid, id jjm.GridID) error {
	switch {
	case g == nil || g.Job.Status.Final():
		return jjm.Errorf(jjm.Conflict, "grid job %s has just ended", id)
	case g.Job.Kill:
		return jjm.Errorf(jjm.Conflict, "grid job %s is being killed", id)
	case g.Job.Status == jjm.Prepared:
		return jjm.Errorf(jjm.Busy, "grid job %s: its outputs are being collected: wait for its end (jjm wait %s)", id, id)
	}
	return nil
}

// local forces one local job, or notes why the local job is not changed.
func (f *force) local(c *state.Change, g *state.Grid, live *jjm.LocalJob) error {
	do, why := plan.Force(plan.ForceFacts{Job: live, To: f.to, Now: f.how.Now, Merges: g.Job.Spec.Merge != nil,
		Reads: g.ReadsFiles(live), Publishes: g.Job.Spec.OutputDataset != ""})
	text := "forced to " + f.to.String() + " by " + f.caller.Actor()
	if f.how.Reason != "" {
		text += ": " + f.how.Reason
	}
	switch do {
	case plan.ForceRefused:
		if f.out.Left++; f.out.LeftWhy == "" {
			f.out.LeftWhy = "local job " + live.ID.String() + ": " + why
		}
	case plan.ForceNothing:
		f.same++
	case plan.ForceMove:
		return f.move(c, c.Local(live.ID), text)
	case plan.ForceEnd:
		f.end(c, c.Local(live.ID), text)
	case plan.ForceKill:
		l := c.Local(live.ID)
		l.Failing = text
		if c.Kill(l.ID, f.caller.Actor()); l.State.Final() {
			f.out.Jobs++
		} else {
			f.out.Killing++
		}
	}
	return nil
}

// move changes the state of an ended local job. The result of a completed local job no longer counts.
func (f *force) move(c *state.Change, l *jjm.LocalJob, text string) error {
	if l.State == jjm.Completed {
		if _, err := c.Tx.Retract(l.ID, f.caller.User, text); err != nil {
			return err
		}
	}
	f.set(c, l, text)
	return nil
}

// end ends the attempt of a submitted or running local job immediately, without waiting for the end of the batch job,
// and prepares the cancel of the batch job.
func (f *force) end(c *state.Change, l *jjm.LocalJob, text string) {
	if b := c.Live.Bulk(l.Tag); b != nil {
		f.cancels = append(f.cancels, f.ws.leave(b, l))
	}
	c.End(l, jjm.Evidence{}, jjm.Verdict{Level: analyse.LevelIntent, Action: jjm.Fail, Phase: jjm.Forced, Text: text,
		RetryArgs: l.RetryArgs, Counters: l.Counters})
	l.Kill, l.Ended = true, c.Now
	f.set(c, l, text)
}

// set stores the forced state.
func (f *force) set(c *state.Change, l *jjm.LocalJob, text string) {
	f.out.Jobs++
	l.Message = text
	c.Move(l, f.to, jjm.Forced, text)
	c.Journal[len(c.Journal)-1].Actor = f.caller.Actor()
}
