package state

import (
	"maps"

	"jjm/internal/engine/floor/fair"
	"jjm/internal/jjm"
)

// apply copies the committed change into memory. The caller holds both locks.
func (c *Change) apply() {
	e := c.S
	for id, job := range c.Grids {
		g := e.grids[id]
		if g == nil {
			g = e.track(*job)
			e.grids[id] = g
		}
		g.Job = *job
		g.revived = g.revived && job.Status.Final()
		g.wakeMerge()
		g.touch()
	}
	for _, l := range c.Inserted {
		l.Part.Input, l.Origin = nil, nil // large; ReadInputs reads them from the store
		e.grids[l.ID.Grid].put(l)
	}
	for _, l := range c.Changed {
		g := e.grids[l.ID.Grid]
		old := g.Locals[l.ID.N].Tag
		g.put(*l)
		if l.Over() || l.IsMerging() {
			g.wakeMerge()
		}
		g.version++
		if old != "" && e.uses[old] == 0 {
			e.markUnused(g.Job.Owner, old)
			delete(e.uses, old)
		}
	}
	for _, b := range c.Created {
		e.adopt(*b)
	}
	for tag, n := range c.ended {
		e.bulks[tag].Open -= n
	}
	for tag, b := range c.bulks {
		live := e.bulks[tag]
		live.Bulk = *b
		if b.State == jjm.BulkClosed || b.State == jjm.BulkRefused {
			e.dropBulk(tag, live.Owner.UID)
		}
	}
	for id, spots := range c.Refused {
		if g := e.grids[id]; g != nil {
			if g.refused == nil {
				g.refused = map[Spot]string{}
			}
			maps.Copy(g.refused, spots)
		}
	}
	c.applyReopened()
	c.applyRemovals()
	memo := &Memo{c.Live}
	if c.Orders != nil {
		c.Orders(memo)
	}
	for _, show := range e.Shown {
		show(c, memo)
	}
}

// adopt adds a bulk to the open bulks in memory.
func (s *State) adopt(b jjm.Bulk) {
	nb := &Bulk{Bulk: b, seen: make([]uint32, len(b.Members)), Look: Look{Done: -1, Progress: LiveLook{Seen: -1}}}
	for _, m := range b.Members {
		if (Memory{s}).Current(m) != nil {
			nb.Open++
		}
	}
	s.bulks[b.Tag] = nb
	of := s.bulksOf[b.Owner.UID]
	if of == nil {
		of = map[jjm.Tag]*Bulk{}
		s.bulksOf[b.Owner.UID] = of
	}
	of[b.Tag] = nb
}

// dropBulk removes a bulk from the open bulks in memory. uid is the account of its owner.
func (s *State) dropBulk(tag jjm.Tag, uid int) {
	delete(s.bulks, tag)
	if delete(s.bulksOf[uid], tag); len(s.bulksOf[uid]) == 0 {
		delete(s.bulksOf, uid)
	}
}

// wake wakes the loops that the change concerns. It is called without the memory lock. The loop of a grid job is woken
// if the row of the grid job changed, or if one of its local jobs ended, is to be killed, or is in a state other than
// new and submitting. A local job that still waits for its submission changes nothing for its grid job. The first news
// after a submission may be that the local job runs, so every later state counts.
func (c *Change) wake() {
	kicks := map[jjm.GridID]bool{}
	for id := range c.Grids {
		kicks[id] = true
	}
	for _, l := range c.Changed {
		if l.Over() || l.Kill || l.State != jjm.New && l.State != jjm.Submitting {
			kicks[l.ID.Grid] = true
		}
	}
	for id := range kicks {
		c.S.WakeGrid(id)
	}
	if len(c.Inserted) > 0 || len(c.Changed) > 0 {
		c.S.WakeSubmit()
	}
	for _, tell := range c.S.Committed {
		tell(c)
	}
	fair.Kick(c.S.PubKick)
}
