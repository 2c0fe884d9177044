package state

import (
	"context"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// Change is one transaction in progress. It contains copies of the rows that it changes. Memory shows the copies only
// after they are stored together.
type Change struct {
	S *State
	// Live is the memory before this change.
	Live Memory
	Ctx  context.Context
	Tx   *store.Tx
	Name string // the kind of the change: the source in its journal entries, and the beginning of its failpoints' names
	Now  jjm.Time

	copies
	requests
	inputs
	reopened
	removals
	// Orders applies the orders, bans and exclusions that the change sets or ends to memory. It is nil if the change
	// concerns none of them.
	Orders func(*Memo)
	// Refused are, for each grid job, the clusters that permanently refuse its local jobs of a place, each with the
	// reason. Memory adds them to the clusters that refused earlier.
	Refused map[jjm.GridID]map[Spot]string
	Journal []jjm.JournalEntry
}

// copies are the rows that a change stores, and the ends of attempts.
type copies struct {
	Grids    map[jjm.GridID]*jjm.GridJob
	Locals   map[jjm.LocalID]*jjm.LocalJob
	Changed  []*jjm.LocalJob       // the values of Locals, in the order of the first calls of Change.Local
	Inserted []jjm.LocalJob        // new local jobs
	bulks    map[jjm.Tag]*jjm.Bulk // changed bulks; see Change.Bulk
	Created  []*jjm.Bulk           // new bulks
	Ends     []store.AttemptEnd    // attempts that end, with the evidence and the verdict
	ended    map[jjm.Tag]int       // by tag of an open bulk: how many of its members' attempts end
}

// requests are the commands to batch systems that a change makes necessary. Loops of the clusters run the commands
// after memory shows the change.
type requests struct {
	Kills    []jjm.AttemptID // attempts to be killed
	Releases []jjm.AttemptID // attempts whose hold in the batch system is to be released
}

// inputs contains the effects of a change on the files that local jobs read and produce. Package feed reads the fields.
// It also sets them, except Gone (set by package verdict) and UnmergedKills (set by Change.Kill); package dataset and
// Change.Reopen also set News, and package dataset also sets Marked.
type inputs struct {
	// Orphans are local jobs that end because their outputs cannot be merged: another local job permanently failed to
	// produce other outputs of the same merged file.
	Orphans map[jjm.LocalID]bool
	// Withdrawn are local jobs that end in this change because files cannot be read, and that count as never submitted.
	// There are two cases. A local job that waits for submission is withdrawn if a file of its work was marked as lost or
	// broken (Feeder.Withdraw). A local job in a batch system is withdrawn if its wrapper did not start the application
	// because files were missing (Gone), there is at least one such file, and all of these files belong to the work that
	// the local job owns (Feeder.LoseFiles).
	Withdrawn map[jjm.LocalID]bool
	// Gone are, by local job, the files that a local job found to be lost or broken. These local jobs end in this change.
	Gone map[jjm.LocalID][]GoneFile
	// Retracted are completed local jobs that this change sets back to failed, because their outputs, or outputs that they
	// merged, are lost. New local jobs do their work again.
	Retracted []*jjm.LocalJob
	// Released are local jobs that ended before this change and whose work this change hands over to new local jobs.
	Released []*jjm.LocalJob
	// UnmergedKills are local jobs that are to be killed and whose outputs wait to be merged.
	UnmergedKills []*jjm.LocalJob
	// EndedReaders are local jobs that end in this change and own files of datasets. Merges are among them: they own
	// outputs of the first step.
	EndedReaders []*jjm.LocalJob
	Then         []func() error    // further statements of the transaction, run after the local jobs are stored
	News         []store.DatasetID // datasets that got files, lost files or were closed
	Marked       []store.DatasetID // the datasets of News in which files were marked
}

// GoneFile is a file of a dataset that a local job was to read and that cannot be read.
type GoneFile struct {
	Dataset store.DatasetID
	LFN     string
	// Own is true if the file belongs to the work that the local job owns, false if the local job reads it in addition.
	// Without an owned file, the local job can still process its other files.
	Own bool
	// State is jjm.FileLost or jjm.FileBroken. Why is the reason for the state, for people.
	State jjm.FileState
	Why   string
}

// Change runs one change from the decision until memory shows it. decide reads memory and sets the fields of the
// Change. Then the participants store the Change in the same transaction, and after the commit Change applies it to
// memory and wakes the loops that it concerns. If decide or a participant returns an error, Change returns that error,
// and the store and memory stay as they were. Changes run one at a time. Each change has two failpoints,
// name.before-commit and name.after-commit; an error of the second one leaves the change stored and memory unchanged.
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

// Grid returns the change's copy of the row of a grid job, which the caller may change. It returns nil if the grid job
// is not live.
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

// Local returns the change's copy of the row of a local job, which the caller may change. It returns nil if there is no
// such local job in memory.
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

// Bulk returns the change's copy of a bulk, which the caller may change. It returns nil if the bulk is not open.
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

// End adds to the change how the current attempt of l ended: the evidence and the verdict. If the attempts of all other
// members of its bulk have ended too, End closes the bulk.
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

// Move sets the state and phase of a local job and adds an entry with the cause to the journal. If a person ordered to
// force the local job to failed (l.Failing), Move sets failed instead of killed. While a kill is requested,
// l.Since stays the time of the request. Only a running local job can be suspended.
func (c *Change) Move(l *jjm.LocalJob, to jjm.State, phase jjm.Phase, cause string) {
	from := jjm.StateWord(l.State, l.Phase)
	if to == jjm.Killed && l.Failing != "" {
		to, phase, cause, l.Message = jjm.Failed, jjm.Forced, l.Failing, l.Failing
	}
	if to.Final() {
		l.Failing = ""
	}
	l.State, l.Phase = to, phase
	if !l.Kill || to.Final() {
		l.Since = c.Now
	}
	if to != jjm.Running {
		l.Suspended = 0
	}
	c.Journal = append(c.Journal, jjm.JournalEntry{
		Time: c.Now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: from, To: jjm.StateWord(to, phase), Cause: cause, Source: c.Name,
	})
}

// Status sets the status of a grid job and adds the change of status to the journal. It does nothing if the grid job
// already has the status. actor is the person or gatekeeper who caused the change, "" for jjm itself.
func (c *Change) Status(g *jjm.GridJob, to jjm.GridStatus, cause, actor string) {
	if g.Status == to {
		return
	}
	c.Note(g.ID, g.Status.String(), to.String(), cause, actor)
	g.Status = to
}

// Note adds an entry about a grid job to the journal. from and to are words for its old and new state. actor is the
// person or gatekeeper who caused the change, "" for jjm itself.
func (c *Change) Note(id jjm.GridID, from, to, cause, actor string) {
	c.Journal = append(c.Journal, jjm.JournalEntry{
		Time: c.Now, Grid: id, First: -1, Last: -1,
		From: from, To: to, Cause: cause, Source: c.Name, Actor: actor,
	})
}

// Aside adds an entry about a local job to the journal without a change of the local job's state. actor is as for Note.
func (c *Change) Aside(l *jjm.LocalJob, cause, actor string) {
	at := jjm.StateWord(l.State, l.Phase)
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: at, To: at, Cause: cause, Source: c.Name, Actor: actor})
}
