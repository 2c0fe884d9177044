package state

import (
	"context"
	"maps"

	"jjm"
	"jjm/engine/fair"
	"jjm/store"
)

// Change is one transaction in the making: copies of the rows it touches,
// which are stored together and only then become visible in memory.
type Change struct {
	S *State
	// Live is what is live, as it was before this change.
	Live Memory
	Ctx  context.Context
	Tx   *store.Tx
	Name string // of the loop, for the journal and the failpoints
	Now  jjm.Time

	copies
	wishes
	inputs
	// Orders makes changed orders or bans visible, if there are any.
	Orders func(*Memo)
	// Refused are clusters that will never take local jobs of a place, and why.
	Refused map[jjm.GridID]map[Spot]string
	Journal []jjm.JournalEntry
}

// copies are the rows of a change, stored together.
type copies struct {
	Grids    map[jjm.GridID]*jjm.GridJob
	Locals   map[jjm.LocalID]*jjm.LocalJob
	Order    []*jjm.LocalJob // of Locals
	Inserted []jjm.LocalJob
	bulks    map[jjm.Tag]*jjm.Bulk
	Created  []*jjm.Bulk
	Ends     []store.AttemptEnd
	ended    map[jjm.Tag]int // members of live bulks whose attempts end
}

// wishes are what loops are to do once memory shows the change.
type wishes struct {
	Kills []jjm.AttemptID // to be looked at
	Frees []jjm.AttemptID // to be released in their batch systems
}

// inputs are what a change does to what local jobs read and make.
type inputs struct {
	// Orphans end because what they made is not merged without what others failed
	// to make.
	Orphans map[jjm.LocalID]bool
	// Withdrawn are those that no batch system had, ended for what they read.
	Withdrawn map[jjm.LocalID]bool
	// Retracted are those that had completed, and whose work others do again.
	Retracted []*jjm.LocalJob
	// UnmergedKills are to be killed and wait for their merging.
	UnmergedKills []*jjm.LocalJob
	// Over are local jobs that read files and end in this change.
	Over   []*jjm.LocalJob
	Then   []func() error    // further changes of the store, after the local jobs'
	News   []store.DatasetID // datasets with new files, or closed
	Marked []store.DatasetID // those of them whose files were marked
}

// Change runs decide, which reads memory and fills the change, commits what it
// left, and applies it to memory. An error leaves both untouched. It has two
// failpoints: NAME.before-commit and NAME.after-commit.
func (s *State) Change(ctx context.Context, name string, decide func(*Change) error) error {
	s.write.Lock()
	defer s.write.Unlock()
	c := &Change{
		S: s, Live: Memory{s}, Ctx: ctx, Name: name, Now: jjm.At(s.B.Now()),
		copies: copies{
			Grids:  map[jjm.GridID]*jjm.GridJob{},
			Locals: map[jjm.LocalID]*jjm.LocalJob{},
			bulks:  map[jjm.Tag]*jjm.Bulk{},
			ended:  map[jjm.Tag]int{},
		},
	}
	err := s.B.Store.Update(ctx, func(tx *store.Tx) error {
		c.Tx = tx
		if err := decide(c); err != nil {
			return err
		}
		if err := c.flush(); err != nil {
			return err
		}
		return s.B.Crash(name + ".before-commit")
	})
	if err != nil {
		return err
	}
	if err := s.B.Crash(name + ".after-commit"); err != nil {
		return err
	}
	s.mem.Lock()
	c.apply()
	s.mem.Unlock()
	c.wake()
	return nil
}

// Grid returns a copy of the grid job to change, or nil if it is not live.
func (c *Change) Grid(id jjm.GridID) *jjm.GridJob {
	if g := c.Grids[id]; g != nil {
		return g
	}
	live := c.S.grids[id]
	if live == nil {
		return nil
	}
	g := live.Job
	g.Changed = c.Now
	c.Grids[id] = &g
	return &g
}

// Local returns a copy of the local job to change, or nil if it is not live.
func (c *Change) Local(id jjm.LocalID) *jjm.LocalJob {
	if l := c.Locals[id]; l != nil {
		return l
	}
	live := c.Live.Local(id)
	if live == nil {
		return nil
	}
	l := *live
	c.Locals[id] = &l
	c.Order = append(c.Order, &l)
	return &l
}

// Bulk returns a copy of the bulk to change, or nil if it is not live.
func (c *Change) Bulk(tag jjm.Tag) *jjm.Bulk {
	if b := c.bulks[tag]; b != nil {
		return b
	}
	live := c.S.bulks[tag]
	if live == nil {
		return nil
	}
	b := live.Bulk
	c.bulks[tag] = &b
	return &b
}

// End records how the current attempt of l ended, and closes its bulk with the
// last of its members.
func (c *Change) End(l *jjm.LocalJob, ev jjm.Evidence, v jjm.Verdict) {
	c.Ends = append(c.Ends, store.AttemptEnd{ID: l.AttemptID(), Ended: c.Now, Evidence: ev, Verdict: v})
	live := c.S.bulks[l.Tag]
	if live == nil {
		return
	}
	c.ended[l.Tag]++
	if c.ended[l.Tag] == live.Open {
		c.Bulk(l.Tag).State = jjm.BulkClosed
	}
}

// Move sets a local job's state and journals it.
func (c *Change) Move(l *jjm.LocalJob, to jjm.State, phase jjm.Phase, cause string) {
	from := jjm.StateWord(l.State, l.Phase)
	l.State, l.Phase = to, phase
	c.Journal = append(c.Journal, jjm.JournalEntry{
		Time: c.Now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: from, To: jjm.StateWord(to, phase), Cause: cause, Source: c.Name,
	})
}

// Status sets a grid job's status and journals it, if it changes.
func (c *Change) Status(g *jjm.GridJob, to jjm.GridStatus, cause, actor string) {
	if g.Status == to {
		return
	}
	c.Note(g.ID, g.Status.String(), to.String(), cause, actor)
	g.Status = to
}

// Note journals something about a grid job.
func (c *Change) Note(id jjm.GridID, from, to, cause, actor string) {
	c.Journal = append(c.Journal, jjm.JournalEntry{
		Time: c.Now, Grid: id, First: -1, Last: -1,
		From: from, To: to, Cause: cause, Source: c.Name, Actor: actor,
	})
}

// Participant takes part in every change: it looks at what was decided, adds what
// follows from it and stores its own share. A participant sees what those before it
// added.
type Participant struct {
	Name string
	// Why it stands where it does in the order.
	Why string
	Do  func(*Change) error
}

// flush has every participant store its share inside the transaction.
func (c *Change) flush() error {
	for _, p := range c.S.Participants {
		if err := p.Do(c); err != nil {
			return err
		}
	}
	return nil
}

// PutBulks stores the bulks that the change makes.
func (c *Change) PutBulks() error {
	for _, b := range c.Created {
		if err := c.Tx.InsertBulk(b); err != nil {
			return err
		}
	}
	return nil
}

// PutEnds stores how attempts ended.
func (c *Change) PutEnds() error {
	if len(c.Ends) == 0 {
		return nil
	}
	return c.Tx.EndAttempts(c.Ends)
}

// PutLocals stores the local jobs that the change touches.
func (c *Change) PutLocals() error {
	if len(c.Order) == 0 {
		return nil
	}
	return c.Tx.SaveLocals(c.Order)
}

// PutNew stores the local jobs that the change makes.
func (c *Change) PutNew() error {
	if len(c.Inserted) == 0 {
		return nil
	}
	return c.Tx.InsertLocals(c.Inserted)
}

// PutThen stores what rooms left to be done after the local jobs.
func (c *Change) PutThen() error {
	for _, do := range c.Then {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// PutRows stores the bulks and grid jobs that the change touches.
func (c *Change) PutRows() error {
	for _, b := range c.bulks {
		if err := c.Tx.SaveBulk(b); err != nil {
			return err
		}
	}
	for _, g := range c.Grids {
		if err := c.Tx.SaveGrid(g); err != nil {
			return err
		}
	}
	return nil
}

// PutJournal stores the lines of the journal.
func (c *Change) PutJournal() error { return c.Tx.Journal(coalesce(c.Journal)...) }

// coalesce joins entries about neighbouring local jobs that changed alike, so
// that a bulk of a thousand is one line of history.
func coalesce(es []jjm.JournalEntry) []jjm.JournalEntry {
	var out []jjm.JournalEntry
	for _, e := range es {
		if n := len(out); n > 0 && joins(out[n-1], e) {
			out[n-1].Last = e.Last
			continue
		}
		out = append(out, e)
	}
	return out
}

func joins(a, b jjm.JournalEntry) bool {
	follows := a.First >= 0 && a.Last+1 == b.First
	a.First, a.Last = b.First, b.Last
	return follows && a == b
}

// apply makes the committed change visible. The engine's memory lock is held.
func (c *Change) apply() {
	e := c.S
	for id, job := range c.Grids {
		g := e.grids[id]
		if g == nil {
			g = e.track(*job)
			e.grids[id] = g
		}
		g.Job = *job
		g.wakeMerge()
		g.touch()
	}
	for _, l := range c.Inserted {
		l.Part.Input, l.Origin = nil, nil // read from the store where it is needed
		e.grids[l.ID.Grid].put(l)
	}
	for _, l := range c.Order {
		g := e.grids[l.ID.Grid]
		old := g.Locals[l.ID.N].Tag
		g.put(*l)
		if l.State.Final() || l.IsMerging() {
			g.wakeMerge()
		}
		g.version++
		if old != "" && e.uses[old] == 0 {
			e.unuse(g.Job.Owner, old)
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
	memo := &Memo{c.Live}
	if c.Orders != nil {
		c.Orders(memo)
	}
	for _, show := range e.Shown {
		show(c, memo)
	}
}

// adopt takes a bulk into memory.
func (s *State) adopt(b jjm.Bulk) {
	nb := &Bulk{Bulk: b, seen: make([]uint32, len(b.Members)), Look: Look{Done: -1, Progress: -1}}
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

// dropBulk takes a bulk out of memory.
func (s *State) dropBulk(tag jjm.Tag, uid int) {
	delete(s.bulks, tag)
	if delete(s.bulksOf[uid], tag); len(s.bulksOf[uid]) == 0 {
		delete(s.bulksOf, uid)
	}
}

// wake tells the loops that something changed.
func (c *Change) wake() {
	kicks := map[jjm.GridID]bool{}
	for id := range c.Grids {
		kicks[id] = true
	}
	for _, l := range c.Order {
		if l.State.Final() || l.State == jjm.Held || l.Kill || l.State == jjm.Submitted || l.IsMerging() {
			kicks[l.ID.Grid] = true
		}
	}
	for id := range kicks {
		c.S.WakeGrid(id)
	}
	if len(c.Inserted) > 0 || len(c.Order) > 0 {
		c.S.WakeSubmit()
	}
	for _, tell := range c.S.Committed {
		tell(c)
	}
	fair.Kick(c.S.PubKick)
}

// Aside journals something about a local job that does not change its state.
func (c *Change) Aside(l *jjm.LocalJob, cause, actor string) {
	at := jjm.StateWord(l.State, l.Phase)
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: at, To: at, Cause: cause, Source: c.Name, Actor: actor})
}
