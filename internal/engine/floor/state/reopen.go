package state

import (
	"iter"
	"maps"

	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
)

// reopened are the changes that one Change makes to requests to reopen grid jobs. To reopen an ended grid job is to
// begin its next generation: the grid job becomes live again, to do more work.
type reopened struct {
	requested []store.Reopening // the requests that the change stores
	settled   []jjm.GridID      // the grid jobs whose requests the change carries out or refuses
}

// Request stores the request r to reopen an ended grid job. The error is of kind Conflict if the grid job already has
// an open request, and Busy if the grid job has not ended or is in a later generation.
func (c *Change) Request(r *store.Reopening) error {
	if err := c.Tx.PutReopening(r); err != nil {
		return err
	}
	c.requested = append(c.requested, *r)
	return nil
}

// Reopen carries out the request r: it begins the next generation of the grid job, tells the ended grid jobs that used
// its outputs ([TellConsumers]), and returns the change's copy of the row. The caller must have added the ended grid
// job to memory before ([Memo.Revive]); otherwise the error is of kind Internal.
func (c *Change) Reopen(r *store.Reopening) (*jjm.GridJob, error) {
	g := c.Grid(r.Grid)
	if g == nil {
		return nil, jjm.Errorf(jjm.Internal, "reopen grid job %s: it is not in memory", r.Grid)
	}
	was := g.Status.String()
	made, err := c.Tx.Reopen(g, r)
	if err != nil {
		return nil, err
	}
	c.News = append(c.News, made...)
	c.settled = append(c.settled, r.Grid)
	c.Note(r.Grid, was, g.Status.String(), "generation "+base.Itoa(g.Generation)+": "+r.Why, r.Actor)
	if err := TellConsumers(c, plan.Remade{Producer: r.Grid, Generation: g.Generation}, r.Actor); err != nil {
		return nil, err
	}
	return g, c.Tx.EndReopening(r.Seq, "")
}

// RefuseReopening stores that the request r was refused, with the reason why.
func (c *Change) RefuseReopening(r *store.Reopening, why string) error {
	c.settled = append(c.settled, r.Grid)
	c.Note(r.Grid, "", "reopening refused", why, "")
	return c.Tx.EndReopening(r.Seq, why)
}

// Requests returns the grid jobs for which the change stores, carries out or refuses a request to be reopened.
func (c *Change) Requests() (ids []jjm.GridID) {
	for _, r := range c.requested {
		ids = append(ids, r.Grid)
	}
	return append(ids, c.settled...)
}

// applyReopened copies the requests of a change into memory. The caller holds both locks.
func (c *Change) applyReopened() {
	for _, r := range c.requested {
		c.S.requests[r.Grid] = r
	}
	for _, id := range c.settled {
		delete(c.S.requests, id)
	}
}

// Reopening returns the open request to reopen a grid job; the last result is false if there is none.
func (m Memory) Reopening(id jjm.GridID) (store.Reopening, bool) {
	r, ok := m.s.requests[id]
	return r, ok
}

// Reopenings returns the open requests to reopen grid jobs, in no order.
func (m Memory) Reopenings() iter.Seq2[jjm.GridID, store.Reopening] { return maps.All(m.s.requests) }

// Revive adds an ended grid job to memory, with all its local jobs, so that a change can reopen the grid job. Until
// that change, memory shows the grid job as ended, but the grid job is not moved to the history.
func (a *Memo) Revive(job jjm.GridJob, locals []jjm.LocalJob) {
	g := a.s.track(job)
	g.revived = true
	g.Locals = make([]jjm.LocalJob, 0, len(locals))
	for _, l := range locals {
		if at, known := a.s.Positions[l.Cluster]; known {
			l.Cluster = a.s.Names[at] // all rows share one string
		}
		g.put(l)
	}
	a.s.grids[job.ID] = g
}

// Revived reports whether a grid job has ended and is in memory only because it is to be reopened.
func (s *State) Revived(id jjm.GridID) bool {
	s.mem.RLock()
	defer s.mem.RUnlock()
	g := s.grids[id]
	return g != nil && g.revived
}
