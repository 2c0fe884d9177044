package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"jjm"
	"jjm/plan"
)

// stepPatience is how long a step of a grid job, or a look at a source, keeps its
// place among the workers.
const stepPatience = 2 * time.Second

// stepGrid brings one grid job as far as it can go now. The answer is when to
// look again by itself: only after an error.
func (e *Engine) stepGrid(ctx context.Context, id jjm.GridID) time.Duration {
	for ctx.Err() == nil {
		facts, live := e.gridFacts(id)
		if !live {
			return 0
		}
		if facts.Status.Final() {
			return e.retire(ctx, id)
		}
		act := plan.Grid(facts)
		err := e.withdraw(ctx, id)
		if err == nil {
			err = e.carryOut(ctx, id, act)
		}
		e.showTrouble(ctx, id, err)
		if err != nil {
			return e.gridTrouble(ctx, id, act, err)
		}
		if act.Do == plan.Nothing {
			return e.lookAgain(id)
		}
	}
	return 0
}

// gridFacts gathers what plan.Grid decides on.
func (e *Engine) gridFacts(id jjm.GridID) (plan.GridFacts, bool) {
	e.mem.RLock()
	defer e.mem.RUnlock()
	g := e.grids[id]
	if g == nil {
		return plan.GridFacts{}, false
	}
	return plan.GridFacts{
		Status: g.job.Status, Kill: g.job.Kill, KillAsked: g.closed() && g.asked == g.live(),
		Prepared: g.job.Step.Prepared, Closed: g.closed(),
		Made: g.job.Step.Made - g.givenBack, Expected: g.job.Step.Expected, Idle: g.idle(),
		Counts: g.counts, EverSubmitted: g.submitted, EverRan: g.ran,
		Merging: g.merging, TarReady: g.job.Tar != "", Waits: e.waitsFor(g, jjm.At(e.now())),
		Failure: g.failure,
	}, true
}

// carryOut does one thing and records the status that goes with it.
func (e *Engine) carryOut(ctx context.Context, id jjm.GridID, act plan.GridAction) error {
	if err := e.setStatus(ctx, id, act.Status, act.Reason); err != nil {
		return err
	}
	switch act.Do {
	case plan.Prepare:
		return e.prepare(ctx, id)
	case plan.Generate:
		return e.generate(ctx, id)
	case plan.KillLocals:
		return e.killLocals(ctx, id)
	case plan.Collect, plan.Finish:
		return e.collect(ctx, id)
	}
	return nil
}

// setStatus stores a status that is not final: final ones are committed with
// the tar.
func (e *Engine) setStatus(ctx context.Context, id jjm.GridID, to jjm.GridStatus, reason string) error {
	e.mem.RLock()
	job := &e.grids[id].job
	same := job.Status == to && (to != jjm.Pending || job.Reason == reason)
	e.mem.RUnlock()
	if same || to.Final() {
		return nil
	}
	return e.change(ctx, "status", func(c *change) error {
		g := c.grid(id)
		g.Reason = reason
		c.status(g, to, reason, "")
		return nil
	})
}

// showTrouble lets people see why a grid job does not get on.
func (e *Engine) showTrouble(ctx context.Context, id jjm.GridID, err error) {
	text := ""
	if err != nil && ctx.Err() == nil {
		text = "trying again: " + err.Error()
	}
	e.mem.RLock()
	g := e.grids[id]
	shown := g == nil || g.trouble == text
	e.mem.RUnlock()
	if shown {
		return
	}
	e.adjust(func() {
		g.trouble = text
		g.headDirty = true
		g.version++
	})
}

// gridTrouble sorts an error: a wrong request ends the grid job as broken, a
// failpoint or the end of ctx ends the step, anything else is tried again.
func (e *Engine) gridTrouble(ctx context.Context, id jjm.GridID, act plan.GridAction, err error) time.Duration {
	if ctx.Err() != nil || errors.Is(err, errCrashed) {
		return 0
	}
	early := act.Do == plan.Prepare || act.Do == plan.Generate
	if early && jjm.KindOf(err) == jjm.Invalid {
		e.log.Warn("grid job cannot be instantiated", "job", id, "error", err)
		e.adjust(func() {
			if g := e.grids[id]; g != nil {
				g.failure = err.Error()
			}
		})
		return time.Millisecond
	}
	e.complain(slog.LevelError, "grid/"+id.String(), "grid job step, trying again", "job", id, "step", act.Do, "error", err)
	return 5 * time.Second
}
