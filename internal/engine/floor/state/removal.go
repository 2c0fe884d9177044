package state

import (
	"context"
	"iter"
	"maps"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// removals are the changes that one Change makes to removals. A removal is the order to delete everything of an ended
// grid job.
type removals struct {
	ordered []store.Removal // the removals that the change stores
	gone    []jjm.GridID    // the grid jobs whose removal was carried out
}

// Remove stores the order to remove an ended grid job. actor is the person who ordered it.
func (c *Change) Remove(job *jjm.GridJob, actor string) error {
	r := store.Removal{Grid: job.ID, Owner: job.Owner, Actor: actor}
	if err := c.Tx.PutRemoval(&r); err != nil {
		return err
	}
	c.ordered = append(c.ordered, r)
	c.Note(job.ID, "", "removal ordered", "", actor)
	return nil
}

// Discard stores the end of a grid job that was rolled back, lets its request key be used again, and orders its
// removal. g is the change's copy, which has its final status.
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

// Removed stores that a removal was carried out: everything of the grid job is deleted, except some rows; see
// [State.Kept].
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

// Kept returns the row of a grid job that is live, in the history or removed. gone is the removal if the grid job is
// removed or is to be removed, else nil. The error is of kind Gone if the grid job never existed, and Denied if the
// caller may not see it. [State.Find] differs only in that it returns an error for a removed grid job.
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
