package engine

import (
	"context"
	"fmt"

	"jjm"
)

// load fills memory from the store: live grid jobs, their local jobs, open
// bulks. What was in the making when the last engine stopped is found again by
// looking: a bulk without ids is doubtful, a final grid job is published and
// archived.
func (e *Engine) load(ctx context.Context) error {
	live, err := e.store.Live(ctx)
	if err != nil {
		return fmt.Errorf("load live grid jobs: %w", err)
	}
	for _, job := range live.Grids {
		g := e.track(job)
		g.locals = make([]jjm.LocalJob, 0, job.Step.Made)
		e.grids[job.ID] = g
	}
	err = e.store.LiveLocals(ctx, func(l jjm.LocalJob) error {
		g := e.grids[l.ID.Grid]
		if at, known := e.positions[l.Cluster]; known {
			l.Cluster = e.names[at] // one text for all
		}
		if g != nil && g.job.Status.Final() {
			g.count(&l, 1)
			g.tallyStep(&l, 1)
			return nil // on its way to the history: its other aggregates are in its row
		}
		if g == nil || int(l.ID.N) != len(g.locals) {
			return jjm.Errorf(jjm.Internal, "local job %s is out of sequence in the store", l.ID)
		}
		if int(l.Place) > len(g.job.Step.Places) {
			return jjm.Errorf(jjm.Internal, "local job %s is at place %d of %d in the store", l.ID, l.Place, len(g.job.Step.Places))
		}
		g.put(l)
		return nil
	})
	if err != nil {
		return fmt.Errorf("load live local jobs: %w", err)
	}
	for _, b := range live.Bulks {
		e.adopt(b)
	}
	if e.orders, err = e.store.Orders(ctx); err != nil {
		return fmt.Errorf("load orders: %w", err)
	}
	for _, g := range e.grids {
		e.unswept[g.job.Owner.UID] = append(e.unswept[g.job.Owner.UID], g.job.Owner)
	}
	return nil
}
