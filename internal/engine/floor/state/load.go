package state

import (
	"context"
	"fmt"

	"jjm/internal/jjm"
)

// Load fills memory from the store, when the daemon starts: live grid jobs, their local jobs, open bulks, requests to
// reopen grid jobs, removals, orders, and excluded hosts. The rows show which steps were in progress when the daemon
// stopped. For example, a bulk without the batch system's id is in doubt, and a grid job with a final status must still
// be published and moved to the history. The error is of kind Internal if the rows contradict each other; then memory
// is incomplete.
func (s *State) Load(ctx context.Context) error {
	live, err := s.B.Store.Live(ctx)
	if err != nil {
		return fmt.Errorf("load live grid jobs: %w", err)
	}
	for _, job := range live.Grids {
		g := s.track(job)
		g.Locals = make([]jjm.LocalJob, 0, job.Step.Made)
		s.grids[job.ID] = g
	}
	err = s.B.Store.LiveLocals(ctx, func(l jjm.LocalJob) error {
		g := s.grids[l.ID.Grid]
		if at, known := s.Positions[l.Cluster]; known {
			l.Cluster = s.Names[at] // all rows share one string, to save memory
		}
		if g != nil && g.Job.Status.Final() {
			g.count(&l, 1)
			g.tallyStep(&l, 1)
			return nil // the other counts of an ended grid job are stored in its row
		}
		if g == nil || int(l.ID.N) != len(g.Locals) {
			return jjm.Errorf(jjm.Internal, "local job %s is out of sequence in the store", l.ID)
		}
		if int(l.Place) > len(g.Job.Step.Places) {
			return jjm.Errorf(jjm.Internal, "local job %s is at place %d of %d in the store", l.ID, l.Place,
				len(g.Job.Step.Places))
		}
		g.put(l)
		return nil
	})
	if err != nil {
		return fmt.Errorf("load live local jobs: %w", err)
	}
	for _, b := range live.Bulks {
		s.adopt(b)
	}
	requests, err := s.B.Store.Reopenings(ctx)
	if err != nil {
		return fmt.Errorf("load what is to be reopened: %w", err)
	}
	for _, r := range requests {
		s.requests[r.Grid] = r
	}
	removals, err := s.B.Store.Removals(ctx)
	if err != nil {
		return fmt.Errorf("load what is to be removed: %w", err)
	}
	for _, r := range removals {
		s.removals[r.Grid] = r
	}
	orders, err := s.B.Store.Orders(ctx)
	if err != nil {
		return fmt.Errorf("load orders: %w", err)
	}
	for _, o := range orders {
		s.orders[targetOf(o)] = append(s.orders[targetOf(o)], o)
	}
	if s.excluded, err = s.B.Store.Exclusions(ctx); err != nil {
		return fmt.Errorf("load excluded hosts: %w", err)
	}
	for _, g := range s.grids {
		s.unswept[g.Job.Owner.UID] = append(s.unswept[g.Job.Owner.UID], g.Job.Owner)
	}
	return nil
}
