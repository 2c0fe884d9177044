package engine

import (
	"context"
	"jjm"
	"jjm/store"
	"maps"
)

// change is one transaction in the making: copies of the rows it touches,
// which are stored together and only then become visible in memory.
type change struct {
	e    *Engine
	ctx  context.Context
	tx   *store.Tx
	name string // of the loop, for the journal and the failpoints
	now  jjm.Time

	grids    map[jjm.GridID]*jjm.GridJob
	locals   map[jjm.LocalID]*jjm.LocalJob
	order    []*jjm.LocalJob
	inserted []jjm.LocalJob
	bulks    map[jjm.Tag]*jjm.Bulk
	created  []*jjm.Bulk
	ends     []store.AttemptEnd
	ended    map[jjm.Tag]int // members of live bulks whose attempts end
	journal  []jjm.JournalEntry
	drop     []jjm.GridID
	orders   func()                         // makes changed orders or bans visible, if there are any
	refused  map[jjm.GridID]map[spot]string // clusters that will never take local jobs of a place, and why
	kills    []jjm.AttemptID                // to be looked at once memory shows the wish
	frees    []jjm.AttemptID                // to be released in their batch systems
	// orphans end because what they made is not merged without what others failed
	// to make.
	orphans map[jjm.LocalID]bool
	// withdrawn are those that no batch system had, ended for what they read.
	withdrawn map[jjm.LocalID]bool
	// retracted are those that had completed, and whose work others do again.
	retracted []*jjm.LocalJob
	// unmergedKills are to be killed and wait for their merging.
	unmergedKills []*jjm.LocalJob
	// over are local jobs that read files and end in this change.
	over   []*jjm.LocalJob
	then   []func() error    // further changes of the store, after the local jobs'
	news   []store.DatasetID // datasets with new files, or closed
	marked []store.DatasetID // those of them whose files were marked
}

// change runs decide, which reads memory and fills the change, commits what it
// left, and applies it to memory. An error leaves both untouched. It has two
// failpoints: NAME.before-commit and NAME.after-commit.
func (e *Engine) change(ctx context.Context, name string, decide func(*change) error) error {
	e.write.Lock()
	defer e.write.Unlock()
	c := &change{
		e: e, ctx: ctx, name: name, now: jjm.At(e.now()),
		grids:  map[jjm.GridID]*jjm.GridJob{},
		locals: map[jjm.LocalID]*jjm.LocalJob{},
		bulks:  map[jjm.Tag]*jjm.Bulk{},
		ended:  map[jjm.Tag]int{},
	}
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		c.tx = tx
		if err := decide(c); err != nil {
			return err
		}
		if err := c.flush(); err != nil {
			return err
		}
		return e.crash(name + ".before-commit")
	})
	if err != nil {
		return err
	}
	if err := e.crash(name + ".after-commit"); err != nil {
		return err
	}
	e.mem.Lock()
	c.apply()
	e.mem.Unlock()
	c.wake()
	return nil
}

// grid gives a copy of the grid job to change, or nil if it is not live.
func (c *change) grid(id jjm.GridID) *jjm.GridJob {
	if g := c.grids[id]; g != nil {
		return g
	}
	live := c.e.grids[id]
	if live == nil {
		return nil
	}
	g := live.job
	g.Changed = c.now
	c.grids[id] = &g
	return &g
}

// local gives a copy of the local job to change, or nil if it is not live.
func (c *change) local(id jjm.LocalID) *jjm.LocalJob {
	if l := c.locals[id]; l != nil {
		return l
	}
	live := c.e.local(id)
	if live == nil {
		return nil
	}
	l := *live
	c.locals[id] = &l
	c.order = append(c.order, &l)
	return &l
}

// bulk gives a copy of the bulk to change, or nil if it is not live.
func (c *change) bulk(tag jjm.Tag) *jjm.Bulk {
	if b := c.bulks[tag]; b != nil {
		return b
	}
	live := c.e.bulks[tag]
	if live == nil {
		return nil
	}
	b := live.Bulk
	c.bulks[tag] = &b
	return &b
}

// end records how the current attempt of l ended, and closes its bulk with the
// last of its members.
func (c *change) end(l *jjm.LocalJob, ev jjm.Evidence, v jjm.Verdict) {
	c.ends = append(c.ends, store.AttemptEnd{ID: l.AttemptID(), Ended: c.now, Evidence: ev, Verdict: v})
	live := c.e.bulks[l.Tag]
	if live == nil {
		return
	}
	c.ended[l.Tag]++
	if c.ended[l.Tag] == live.open {
		c.bulk(l.Tag).State = jjm.BulkClosed
	}
}

// move sets a local job's state and journals it.
func (c *change) move(l *jjm.LocalJob, to jjm.State, phase jjm.Phase, cause string) {
	from := jjm.StateWord(l.State, l.Phase)
	l.State, l.Phase = to, phase
	c.journal = append(c.journal, jjm.JournalEntry{
		Time: c.now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: from, To: jjm.StateWord(to, phase), Cause: cause, Source: c.name,
	})
}

// status sets a grid job's status and journals it, if it changes.
func (c *change) status(g *jjm.GridJob, to jjm.GridStatus, cause, actor string) {
	if g.Status == to {
		return
	}
	c.note(g.ID, g.Status.String(), to.String(), cause, actor)
	g.Status = to
}

// note journals something about a grid job.
func (c *change) note(id jjm.GridID, from, to, cause, actor string) {
	c.journal = append(c.journal, jjm.JournalEntry{
		Time: c.now, Grid: id, First: -1, Last: -1,
		From: from, To: to, Cause: cause, Source: c.name, Actor: actor,
	})
}

// participant takes part in every change: it looks at what was decided, adds what
// follows from it and stores its own share. A participant sees what those before it
// added.
type participant struct {
	name string
	// why it stands where it does in the order.
	why string
	do  func(*change) error
}

// flush has every participant store its share inside the transaction.
func (c *change) flush() error {
	for _, p := range c.e.participants {
		if err := p.do(c); err != nil {
			return err
		}
	}
	return nil
}

// putBulks stores the bulks that the change makes.
func (c *change) putBulks() error {
	for _, b := range c.created {
		if err := c.tx.InsertBulk(b); err != nil {
			return err
		}
	}
	return nil
}

// putEnds stores how attempts ended.
func (c *change) putEnds() error {
	if len(c.ends) == 0 {
		return nil
	}
	return c.tx.EndAttempts(c.ends)
}

// putLocals stores the local jobs that the change touches.
func (c *change) putLocals() error {
	if len(c.order) == 0 {
		return nil
	}
	return c.tx.SaveLocals(c.order)
}

// putNew stores the local jobs that the change makes.
func (c *change) putNew() error {
	if len(c.inserted) == 0 {
		return nil
	}
	return c.tx.InsertLocals(c.inserted)
}

// putThen stores what rooms left to be done after the local jobs.
func (c *change) putThen() error {
	for _, do := range c.then {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// putRows stores the bulks and grid jobs that the change touches.
func (c *change) putRows() error {
	for _, b := range c.bulks {
		if err := c.tx.SaveBulk(b); err != nil {
			return err
		}
	}
	for _, g := range c.grids {
		if err := c.tx.SaveGrid(g); err != nil {
			return err
		}
	}
	return nil
}

// putJournal stores the lines of the journal.
func (c *change) putJournal() error { return c.tx.Journal(coalesce(c.journal)...) }

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
func (c *change) apply() {
	e := c.e
	for id, job := range c.grids {
		g := e.grids[id]
		if g == nil {
			g = e.track(*job)
			e.grids[id] = g
		}
		g.job = *job
		g.wakeMerge()
		g.headDirty = true
		g.version++
	}
	for _, l := range c.inserted {
		l.Part.Input, l.Origin = nil, nil // read from the store where it is needed
		e.grids[l.ID.Grid].put(l)
	}
	for _, l := range c.order {
		g := e.grids[l.ID.Grid]
		old := g.locals[l.ID.N].Tag
		g.put(*l)
		if l.State.Final() || l.IsMerging() {
			g.wakeMerge()
		}
		g.version++
		if old != "" && e.uses[old] == 0 {
			e.unuse(g.job.Owner, old)
			delete(e.uses, old)
		}
	}
	for _, b := range c.created {
		e.adopt(*b)
	}
	for tag, n := range c.ended {
		e.bulks[tag].open -= n
	}
	for tag, b := range c.bulks {
		live := e.bulks[tag]
		live.Bulk = *b
		if b.State == jjm.BulkClosed || b.State == jjm.BulkRefused {
			e.dropBulk(tag, live.Owner.UID)
		}
	}
	for _, id := range c.drop {
		e.untrack(id)
	}
	for id, spots := range c.refused {
		if g := e.grids[id]; g != nil {
			if g.refused == nil {
				g.refused = map[spot]string{}
			}
			maps.Copy(g.refused, spots)
		}
	}
	if c.orders != nil {
		c.orders()
	}
	for _, show := range e.shown {
		show(c)
	}
}

// adopt takes a bulk into memory.
func (e *Engine) adopt(b jjm.Bulk) {
	nb := &bulk{Bulk: b, seen: make([]uint32, len(b.Members)), done: -1, progress: -1}
	for _, m := range b.Members {
		if e.current(m) != nil {
			nb.open++
		}
	}
	e.bulks[b.Tag] = nb
	of := e.bulksOf[b.Owner.UID]
	if of == nil {
		of = map[jjm.Tag]*bulk{}
		e.bulksOf[b.Owner.UID] = of
	}
	of[b.Tag] = nb
}

// dropBulk takes a bulk out of memory.
func (e *Engine) dropBulk(tag jjm.Tag, uid int) {
	delete(e.bulks, tag)
	if delete(e.bulksOf[uid], tag); len(e.bulksOf[uid]) == 0 {
		delete(e.bulksOf, uid)
	}
}

// wake tells the loops that something changed.
func (c *change) wake() {
	kicks := map[jjm.GridID]bool{}
	for id := range c.grids {
		kicks[id] = true
	}
	for _, l := range c.order {
		if l.State.Final() || l.State == jjm.Held || l.Kill || l.State == jjm.Submitted || l.IsMerging() {
			kicks[l.ID.Grid] = true
		}
	}
	for id := range kicks {
		c.e.wakeGrid(id)
	}
	if len(c.inserted) > 0 || len(c.order) > 0 {
		c.e.wakeSubmit()
	}
	for _, tell := range c.e.committed {
		tell(c)
	}
	kick(c.e.pubKick)
}

// aside journals something about a local job that does not change its state.
func (c *change) aside(l *jjm.LocalJob, cause, actor string) {
	at := jjm.StateWord(l.State, l.Phase)
	c.journal = append(c.journal, jjm.JournalEntry{Time: c.now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: at, To: at, Cause: cause, Source: c.name, Actor: actor})
}
