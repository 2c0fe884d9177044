package state

import (
	"context"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// Change is one transaction in progress. It holds copies of the rows that it changes. The copies are stored together,
// and become visible in memory only after that.
type Change struct {
	S *State
	// Live is the memory before this change.
	Live Memory
	Ctx  context.Context
	Tx   *store.Tx
	Name string // the kind of change: the source in the journal, and the beginning of the failpoints' names
	Now  jjm.Time

	copies
	requests
	inputs
	reopened
	removals
	// Orders applies changed orders or bans to memory, nil if there are none.
	Orders func(*Memo)
	// Refused are the clusters that permanently refused local jobs of a place, and why.
	Refused map[jjm.GridID]map[Spot]string
	Journal []jjm.JournalEntry
}

// copies are the rows that a change stores.
type copies struct {
	Grids    map[jjm.GridID]*jjm.GridJob
	Locals   map[jjm.LocalID]*jjm.LocalJob
	Changed  []*jjm.LocalJob // the values of Locals, in the order of the first calls of Change.Local
	Inserted []jjm.LocalJob  // new local jobs
	bulks    map[jjm.Tag]*jjm.Bulk
	Created  []*jjm.Bulk // new bulks
	Ends     []store.AttemptEnd
	ended    map[jjm.Tag]int // number of members of live bulks whose attempts end
}

// requests are the orders that loops carry out once memory shows the change.
type requests struct {
	Kills    []jjm.AttemptID // attempts to be killed
	Releases []jjm.AttemptID // attempts whose hold in the batch system is to be released
}

// inputs holds the effects of a change on files that local jobs read and make. Package feed sets and reads the fields.
type inputs struct {
	// Orphans are local jobs that end because their outputs cannot be merged: other local jobs failed to make the
	// remaining outputs of the merged file.
	Orphans map[jjm.LocalID]bool
	// Withdrawn are local jobs that processed nothing and end because of files that they
	// read: a file was marked before a batch system had the local job, or all files are gone.
	Withdrawn map[jjm.LocalID]bool
	// Gone are the files that local jobs found to be gone, by local job. These local jobs end in this change.
	Gone map[jjm.LocalID][]GoneFile
	// Retracted are completed local jobs whose outputs are lost. New local jobs do their work again.
	Retracted []*jjm.LocalJob
	// Released are local jobs that ended before this change and give their work back in it. New local jobs do the work.
	Released []*jjm.LocalJob
	// UnmergedKills are local jobs to be killed while their outputs wait to be merged.
	UnmergedKills []*jjm.LocalJob
	// EndedReaders are local jobs that own files of datasets and end in this change.
	EndedReaders []*jjm.LocalJob
	Then         []func() error    // further statements, to run after the local jobs are stored
	News         []store.DatasetID // datasets that got files, lost files or were closed
	Marked       []store.DatasetID // the datasets of News in which files were marked
}

// GoneFile is a file of a dataset that a local job was to read.
type GoneFile struct {
	Dataset store.DatasetID
	LFN     string
	// Own is true if the local job owns a part of the file. The local job can process its other files without this
	// file.
	Own bool
	// State is jjm.FileLost or jjm.FileBroken. Why is the reason, for people.
	State jjm.FileState
	Why   string
}

// Change runs decide, which reads memory and sets the fields of the change. Then the participants store the change in
// the same transaction, and Change applies it to memory. If decide or a participant returns an error, store and memory
// stay as they were. Changes run one at a time. Each change has two failpoints: NAME.before-commit and
// NAME.after-commit.
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

// Grid returns the change's copy of a grid job, to be changed, or nil if the grid job is
// not live.
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

// Local returns the change's copy of a local job, to be changed, or nil if the local job
// is not live.
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
	c.Changed = append(c.Changed, &l)
	return &l
}

// Bulk returns the change's copy of a bulk, to be changed, or nil if the bulk is closed.
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

// End stores how the current attempt of l ended, and closes its bulk if all other members
// of the bulk have ended.
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

// Move sets the state and phase of a local job and adds an entry to the journal. If a person forces the local job to
// failed, Move sets failed instead of killed.
func (c *Change) Move(l *jjm.LocalJob, to jjm.State, phase jjm.Phase, cause string) {
	from := jjm.StateWord(l.State, l.Phase)
	if to == jjm.Killed && l.Failing != "" {
		to, phase, cause, l.Message = jjm.Failed, jjm.Forced, l.Failing, l.Failing
	}
	if to.Final() {
		l.Failing = ""
	}
	l.State, l.Phase = to, phase
	c.Journal = append(c.Journal, jjm.JournalEntry{
		Time: c.Now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: from, To: jjm.StateWord(to, phase), Cause: cause, Source: c.Name,
	})
}

// Status sets the status of a grid job and, if it changes, adds it to the journal.
func (c *Change) Status(g *jjm.GridJob, to jjm.GridStatus, cause, actor string) {
	if g.Status == to {
		return
	}
	c.Note(g.ID, g.Status.String(), to.String(), cause, actor)
	g.Status = to
}

// Note adds an entry about a grid job to the journal.
func (c *Change) Note(id jjm.GridID, from, to, cause, actor string) {
	c.Journal = append(c.Journal, jjm.JournalEntry{
		Time: c.Now, Grid: id, First: -1, Last: -1,
		From: from, To: to, Cause: cause, Source: c.Name, Actor: actor,
	})
}

// Aside adds an entry to the journal about a local job whose state does not change.
func (c *Change) Aside(l *jjm.LocalJob, cause, actor string) {
	at := jjm.StateWord(l.State, l.Phase)
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: at, To: at, Cause: cause, Source: c.Name, Actor: actor})
}
