package gridjob

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"jjm"
	"jjm/engine/base"
	"jjm/engine/state"
	"jjm/plan"
)

// stepGrid brings one grid job as far as it can go now. The answer is when to
// look again by itself: only after an error.
func (js *Jobs) stepGrid(ctx context.Context, id jjm.GridID) time.Duration {
	for ctx.Err() == nil {
		facts, live := js.gridFacts(id)
		if !live {
			return 0
		}
		if facts.Status.Final() {
			return js.retire(ctx, id)
		}
		act := plan.Grid(facts)
		err := js.rooms.Feeder.Withdraw(ctx, id)
		if err == nil {
			err = js.carryOut(ctx, id, act)
		}
		js.showTrouble(ctx, id, err)
		if err != nil {
			return js.gridTrouble(ctx, id, act, err)
		}
		if act.Do == plan.Nothing {
			return js.rooms.Feeder.LookAgain(id)
		}
	}
	return 0
}

// gridFacts gathers what plan.Grid decides on.
func (js *Jobs) gridFacts(id jjm.GridID) (plan.GridFacts, bool) {
	v := js.s.View()
	defer v.Close()
	g := v.Grid(id)
	if g == nil {
		return plan.GridFacts{}, false
	}
	now, paused := jjm.At(js.b.Now()), ""
	if o, yes := v.Paused(id, now); yes {
		paused = o.String()
	}
	return plan.GridFacts{
		Paused: paused,
		Status: g.Job.Status, Kill: g.Job.Kill, KillAsked: g.Closed() && g.Asked == g.Live(),
		Prepared: g.Job.Step.Prepared, Closed: g.Closed(),
		Made: g.Job.Step.Made - g.GivenBack, Expected: g.Job.Step.Expected, Idle: g.Idle(),
		Counts: g.Counts, EverSubmitted: g.Submitted, EverRan: g.Ran,
		Merging: g.Merging, TarReady: g.Job.Tar != "", Waits: js.rooms.Clusters.WaitsFor(v.Memory, g, now),
		Failure: g.Failure(),
	}, true
}

// carryOut does one thing and records the status that goes with it.
func (js *Jobs) carryOut(ctx context.Context, id jjm.GridID, act plan.GridAction) error {
	if err := js.setStatus(ctx, id, act.Status, act.Reason); err != nil {
		return err
	}
	switch act.Do {
	case plan.Prepare:
		return js.prepare(ctx, id)
	case plan.Generate:
		return js.generate(ctx, id)
	case plan.KillLocals:
		return js.killLocals(ctx, id)
	case plan.Collect, plan.Finish:
		return js.collect(ctx, id)
	}
	return nil
}

// setStatus stores a status that is not final: final ones are committed with
// the tar.
func (js *Jobs) setStatus(ctx context.Context, id jjm.GridID, to jjm.GridStatus, reason string) error {
	v := js.s.View()
	job := &v.Grid(id).Job
	same := job.Status == to && (to != jjm.Pending && to != jjm.Paused || job.Reason == reason)
	v.Close()
	if same || to.Final() {
		return nil
	}
	return js.s.Change(ctx, "status", func(c *state.Change) error {
		g := c.Grid(id)
		g.Reason = reason
		c.Status(g, to, reason, "")
		return nil
	})
}

// showTrouble lets people see why a grid job does not get on.
func (js *Jobs) showTrouble(ctx context.Context, id jjm.GridID, err error) {
	text := ""
	if err != nil && ctx.Err() == nil {
		text = "trying again: " + err.Error()
	}
	v := js.s.View()
	g := v.Grid(id)
	shown := g == nil || g.Trouble() == text
	v.Close()
	if shown {
		return
	}
	js.s.Adjust(func(a *state.Memo) { a.ShowTrouble(id, text) })
}

// gridTrouble sorts an error: a wrong request ends the grid job as broken, a
// failpoint or the end of ctx ends the step, anything else is tried again.
func (js *Jobs) gridTrouble(ctx context.Context, id jjm.GridID, act plan.GridAction, err error) time.Duration {
	if ctx.Err() != nil || errors.Is(err, base.ErrCrashed) {
		return 0
	}
	early := act.Do == plan.Prepare || act.Do == plan.Generate
	if early && jjm.KindOf(err) == jjm.Invalid {
		js.b.Log.Warn("grid job cannot be instantiated", "job", id, "error", err)
		js.s.Adjust(func(a *state.Memo) { a.Fail(id, err.Error()) })
		return time.Millisecond
	}
	js.b.Complain(slog.LevelError, "grid/"+id.String(), "grid job step, trying again", "job", id, "step", act.Do, "error",
		err)
	return 5 * time.Second
}

// killLocals marks the next local jobs of a grid job that is to die.
func (js *Jobs) killLocals(ctx context.Context, id jjm.GridID) error {
	return js.s.Change(ctx, "kill-locals", func(c *state.Change) error {
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
			c.Kill(l.ID, g.Job.KillBy)
			if marked++; marked == js.b.Chunk() {
				return nil
			}
		}
		return nil
	})
}
