package reopen

import (
	"context"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// RunAgain resubmits failed local jobs of an unfinished grid job automatically, at most a chunk, as plan.Again decides.
// It keeps the counters of retries and holds of each local job: the attempts of all resubmissions together have one
// limit of retries. If a local job must not do its work again (decision R15), RunAgain stores the reason, and never
// resubmits the local job. If no local job is to be resubmitted any longer, it returns nil.
func (ro *Reopener) RunAgain(ctx context.Context, id jjm.GridID) error {
	job := ro.s.JobOf(id)
	taken, err := ro.rooms.Prover.Elsewhere(ctx, &job)
	elsewhere := ""
	if jjm.KindOf(err) == jjm.Conflict {
		elsewhere, err = err.Error(), nil
	}
	if err != nil {
		return err
	}
	return ro.s.Change(ctx, "auto-resubmit", func(c *state.Change) error {
		g := c.Live.Grid(id)
		if g == nil {
			return nil
		}
		conf := ro.b.Conf()
		run, stopped := plan.Again(state.AgainFacts(g, conf))
		run = run[:min(len(run), ro.b.Chunk())]
		unfit, err := ro.rooms.Feeder.Unfit(ctx, &g.Job, run)
		if err != nil {
			return err
		}
		run, unable := plan.Able(run, func(n int32) string {
			if elsewhere != "" {
				return elsewhere
			}
			if why := taken[n]; why != "" {
				return why
			}
			return unfit[n]
		})
		stopped = append(stopped[:min(len(stopped), ro.b.Chunk())], unable...)
		for _, s := range stopped {
			l := c.Local(jjm.LocalID{Grid: id, N: s.N})
			l.Again.Stopped = s.Why
			c.Aside(l, jjm.Again{Stopped: s.Why}.Text(0), "")
		}
		return ro.restartAll(c, id, run)
	})
}

// restartAll resubmits local jobs and counts the resubmissions of each. The wait before the next attempt grows with
// this count.
func (ro *Reopener) restartAll(c *state.Change, id jjm.GridID, run []int32) error {
	conf := ro.b.Conf()
	if err := ro.rooms.Feeder.Resume(c, id, run); err != nil {
		return err
	}
	for _, n := range run {
		l := c.Local(jjm.LocalID{Grid: id, N: n})
		l.Again.Times++
		l.Holding = plan.HoldNext(l.Holding)
		if err := restart(c, l, l.Again.Text(conf.MaxAutoResubmits), rerun{}); err != nil {
			return err
		}
		if l.NotBefore != 0 {
			l.NotBefore = c.Now.Add(plan.Backoff(plan.BackoffFacts{Unit: conf.Backoff.D(), Failures: l.Again.Times}))
		}
	}
	return nil
}
