package state

import (
	"context"

	"jjm"
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

// Aside journals something about a local job that does not change its state.
func (c *Change) Aside(l *jjm.LocalJob, cause, actor string) {
	at := jjm.StateWord(l.State, l.Phase)
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: at, To: at, Cause: cause, Source: c.Name, Actor: actor})
}
