package state

import (
	"context"
	"iter"
	"maps"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// removals are the effects of a change on the removals of grid jobs.
type removals struct {
	ordered []store.Removal // the removals that the change stores
	gone    []jjm.GridID    // the grid jobs whose removal the change ends
}

// Remove stores the order to remove an ended grid job.
func (c *Change) Remove(job *jjm.GridJob, actor string) error {
	r := store.Removal{Grid: job.ID, Owner: job.Owner, Actor: actor}
	if err := c.Tx.PutRemoval(&r); err != nil {
		return err
	}
	c.ordered = append(c.ordered, r)
	c.Note(job.ID, "", "removal ordered", "", actor)
	return nil
}

// Discard stores the end of a grid job that was rolled back, releases its request key and orders its removal. g is the
// change's copy, with its final status.
func (c *Change) Discard(g *jjm.GridJob, actor string) error {
	if err := c.Tx.SaveGrid(g); err != nil { // a removal needs the end in the store
		return err
	}
	if g.Spec.Key != "" {
		if err := c.Tx.ReleaseKey(g.ID); err != nil {
			return err
		}
	}
	return c.Remove(g, actor)
}

// OrderedRemovals returns the removals that the change orders.
func (c *Change) OrderedRemovals() []store.Removal { return c.ordered }

// Removed stores that the removal of a grid job is complete; see [State.Kept] for the rows that stay.
func (c *Change) Removed(r *store.Removal) error {
	c.gone = append(c.gone, r.Grid)
	c.Note(r.Grid, "", "removed", "work area, packages that nobody else uses, tars, record and rows", r.Actor)
	return c.Tx.EndRemoval(r.Grid)
}

// applyRemovals copies the removals of a change into memory. The caller holds both locks.
func (c *Change) applyRemovals() {
	for _, r := range c.ordered {
		c.S.removals[r.Grid] = r
	}
	for _, id := range c.gone {
		delete(c.S.removals, id)
	}
}

// Removal returns the removal of a grid job that is not carried out yet, false if there is none.
func (m Memory) Removal(id jjm.GridID) (store.Removal, bool) {
	r, ok := m.s.removals[id]
	return r, ok
}

// Removals returns the removals that are not carried out yet, in no order.
func (m Memory) Removals() iter.Seq2[jjm.GridID, store.Removal] { return maps.All(m.s.removals) }

// Kept is [State.Find] that also returns a removed grid job: its own row, and the removal. gone
// is nil if the grid job is neither removed nor to be removed.
func (s *State) Kept(ctx context.Context, caller wire.Caller, id jjm.GridID) (job jjm.GridJob, gone *store.Removal,
	err error) {
	v := s.View()
	g := v.Grid(id)
	if g != nil {
		job = g.Job
	}
	if r, open := v.Removal(id); open {
		gone = &r
	}
	v.Close()
	if g == nil {
		if job, gone, err = s.B.Store.Kept(ctx, id); err != nil {
			return jjm.GridJob{}, nil, err
		}
	}
	if !caller.May(job.Owner.UID) {
		return jjm.GridJob{}, nil, jjm.Errorf(jjm.Denied, "grid job %s belongs to %s", id, job.Owner.User)
	}
	return job, gone, nil
}
