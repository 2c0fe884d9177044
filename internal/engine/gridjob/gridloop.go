package gridjob

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
)

// stepGrid steps one grid job until nothing is left to do now. It returns the time after which to step the grid job
// again without being woken, 0 for never.
func (js *Jobs) stepGrid(ctx context.Context, id jjm.GridID) time.Duration {
	for ctx.Err() == nil {
		facts, live := js.gridFacts(id)
		if !live {
			return 0
		}
		if facts.Status.Final() {
			if js.s.Revived(id) {
				return 0 // the grid job is being reopened
			}
			return js.retire(ctx, id)
		}
		act := plan.Grid(facts)
		if facts.Fetching != "" && act.Status != jjm.Pending { // the grid job was killed or paused meanwhile
			js.remote.Stop(id)
		}
		err := js.rooms.Feeder.Withdraw(ctx, id)
		if err == nil {
			err = js.carryOut(ctx, id, act)
		}
		again := js.showTrouble(ctx, id, err)
		if err != nil {
			return js.gridTrouble(ctx, id, act, err, again)
		}
		if act.Do == plan.Nothing {
			return js.rooms.Feeder.LookAgain(id)
		}
	}
	return 0
}

// gridFacts returns the facts on which plan.Grid decides, and true if the grid job is live.
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
	killed := ""
	if g.Job.Kill {
		killed = g.Job.Reason
	}
	after, unknown := js.after.Waits(&g.Job)
	run, stopped := plan.Again(state.AgainFacts(g, js.b.Conf()))
	return plan.GridFacts{
		AfterUnknown: unknown, After: after,
		Paused: paused, KillReason: killed,
		Status: g.Job.Status, Kill: g.Job.Kill, KillAsked: g.Closed() && g.KillsPending == g.Live(),
		Fetching: js.remote.Waits(id), Prepared: g.Job.Step.Prepared, Closed: g.Closed(),
		Made: g.Job.Step.Made - g.GivenBack, Expected: g.Job.Step.Expected, Idle: g.Idle(),
		Counts: g.Counts, GivenBack: g.GivenBack, Forced: g.Forced, EverSubmitted: g.Submitted, EverRan: g.Ran,
		Keep: g.Job.Rollback == jjm.RollbackKeep, Kept: g.Job.Kept(),
		Unsubmitted: g.Unsubmitted, Refusal: state.Refusal(g), ToWithhold: len(state.ToWithhold(g, 1)) > 0,
		Merging: g.Merging, TarReady: g.Job.Tar != "", Waits: js.rooms.Clusters.WaitsFor(v.Memory, g, now),
		Failure: g.Failure(), Again: len(run)+len(stopped) > 0, AutoKill: state.AutoKillReason(g, js.b.Conf()),
	}, true
}

// carryOut stores the new status that an action has for the grid job, and carries out the action.
func (js *Jobs) carryOut(ctx context.Context, id jjm.GridID, act plan.GridAction) error {
	if err := js.setStatus(ctx, id, act.Status, act.Reason); err != nil {
		return err
	}
	switch act.Do {
	case plan.Await:
		job := js.s.JobOf(id)
		return js.after.Await(ctx, &job)
	case plan.Prepare:
		return js.prepare(ctx, id)
	case plan.Generate:
		return js.generate(ctx, id)
	case plan.KillLocals:
		return js.killLocals(ctx, id)
	case plan.Collect, plan.Finish:
		return js.collect(ctx, id)
	case plan.RunAgain:
		return js.again.RunAgain(ctx, id)
	case plan.KillItself:
		return killItself(ctx, js.s, id)
	case plan.Withhold:
		return withhold(ctx, js.s, id, js.b.Chunk())
	case plan.RollBack:
		return rollBack(ctx, js, id, act.Reason)
	}
	return nil
}

// setStatus stores a status. It stores nothing if the grid job already has the status (and for pending and paused, also
// the reason), or if the status is final, because collect commits a final status with the tar.
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

// showTrouble sets the text that shows people why a grid job makes no progress; if err is nil, it clears the text. It
// returns true if the same text was already shown, or if the grid job is not live.
func (js *Jobs) showTrouble(ctx context.Context, id jjm.GridID, err error) (shown bool) {
	text := ""
	if err != nil && ctx.Err() == nil {
		text = "trying again: " + err.Error()
	}
	v := js.s.View()
	g := v.Grid(id)
	shown = g == nil || g.Trouble() == text
	v.Close()
	if !shown {
		js.s.Adjust(func(a *state.Memo) { a.ShowTrouble(id, text) })
	}
	return shown
}

// gridTrouble decides how a grid job continues after an error. An error that a retry cannot cure
// (plan.Hopeless) ends the grid job as broken, a failpoint or the end of ctx ends the step, and any
// other error is retried. again says that the same error came before. gridTrouble returns the time
// after which to step the grid job again.
func (js *Jobs) gridTrouble(ctx context.Context, id jjm.GridID, act plan.GridAction, err error,
	again bool) time.Duration {
	if ctx.Err() != nil || errors.Is(err, base.ErrCrashed) {
		return 0
	}
	if kind := jjm.KindOf(err); !store.Damaged(err) && plan.Hopeless(act.Do, kind, again) {
		js.b.Log.Warn("grid job cannot go on", "job", id, "error", err)
		why := err.Error()
		if kind == jjm.Internal {
			why = "a mistake in jjm itself, please report it: " + why
		}
		js.s.Adjust(func(a *state.Memo) { a.Fail(id, why) })
		return time.Millisecond
	}
	js.b.Complain(slog.LevelError, "grid/"+id.String(), "step of a grid job failed, will try again", "job", id, "step",
		act.Do, "error", err)
	return 5 * time.Second
}

// killLocals marks the local jobs of a grid job that is being killed as to be killed, at most a chunk in one call. It
// also closes the step, so that no more local jobs are made.
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

// autoKill is the value of KillBy, which the record shows, for a grid job that jjm itself killed.
const autoKill = "auto_kill"

// killItself kills a grid job because too many of its local jobs failed. It decides the reason again, because a local
// job may have completed meanwhile. If the grid job is no longer to be killed, it returns nil without a change.
func killItself(ctx context.Context, s *state.State, id jjm.GridID) error {
	return s.Change(ctx, "auto-kill", func(c *state.Change) error {
		live := c.Live.Grid(id)
		if live == nil || live.Job.Kill || live.Job.Status.Final() {
			return nil
		}
		why := state.AutoKillReason(live, s.B.Conf())
		if why == "" {
			return nil
		}
		g := c.Grid(id)
		g.Kill, g.KillBy, g.Reason = true, autoKill, why
		c.Status(g, jjm.Aborting, why, "")
		return nil
	})
}
