package state

import (
	"slices"
	"time"

	"jjm"
	"jjm/split"
	"jjm/store"
)

// MarkWhole has the whole record of a grid job written once more.
func (a *Memo) MarkWhole(id jjm.GridID) {
	g := a.Grid(id)
	if g == nil || g.whole {
		return
	}
	g.whole = true
	for n := 0; n*ShardSize < len(g.Locals); n++ {
		g.dirty[n] = true
	}
}

// Forget takes a grid job out of memory: it is in the history.
func (a *Memo) Forget(id jjm.GridID) { a.s.untrack(id) }

// ShowTrouble lets people see why the next step of a grid job cannot be done.
func (a *Memo) ShowTrouble(id jjm.GridID, text string) {
	if g := a.Grid(id); g != nil {
		g.trouble = text
		g.touch()
	}
}

// Fail notes why a grid job cannot go on.
func (a *Memo) Fail(id jjm.GridID, why string) {
	if g := a.Grid(id); g != nil {
		g.failure = why
	}
}

// SetCutting remembers a handler's decision.
func (a *Memo) SetCutting(id jjm.GridID, c *Cutting) {
	if g := a.Grid(id); g != nil {
		g.cutting = c
	}
}

// ShowProgress shows what the local jobs of a bulk say of themselves, by position;
// next is how far the look came, seen the folder's time. It reports whether anything
// changed.
func (a *Memo) ShowProgress(tag jjm.Tag, ps map[int32]jjm.Progress, next int32, seen, now int64) (changed bool) {
	b := a.Bulk(tag)
	if b == nil {
		return false
	}
	b.Look.Progress.note(next, seen, now)
	for pos, p := range ps {
		l := a.Current(b.Members[pos])
		if l == nil || l.Progress == p {
			continue
		}
		l.Progress = p
		g := a.Grid(l.ID.Grid)
		g.dirty[ShardOf(l.ID.N)] = true
		g.touch()
		changed = true
	}
	return changed
}

// SetWaits shows why a batch job waits, nil for nothing.
func (a *Memo) SetWaits(id jjm.AttemptID, w *jjm.Waiting) {
	if l := a.Current(id); l != nil && l.State == jjm.Submitted {
		l.Waits = w
	}
}

// SetHolding shows how a hold goes on, unless it changed since it was looked at.
func (a *Memo) SetHolding(id jjm.AttemptID, old, now *jjm.Holding) {
	if l := a.Local(id.LocalID); l != nil && l.Attempt == id.Attempt && l.Holding == old {
		l.Holding = now
	}
}

// SetReleased notes when a held bulk was released.
func (a *Memo) SetReleased(tag jjm.Tag, now jjm.Time) {
	if b := a.Bulk(tag); b != nil {
		b.released = now
	}
}

// Due moves the local jobs of a grid job that wait and whose time has come to what is
// ready.
func (a *Memo) Due(g *Grid, now jjm.Time) { g.due(now) }

// Ready returns how many local jobs of a grid job are ready at a place, at most.
func (a *Memo) Ready(g *Grid, place int32, now jjm.Time) int { return g.trim(place, now) }

// Take takes the first local job that is ready at a place; false if there is none.
func (a *Memo) Take(g *Grid, place int32, now jjm.Time) (l jjm.LocalJob, ok bool) {
	if g.trim(place, now) == 0 {
		return l, false
	}
	q := g.ready.Of(place)
	g.ready.Set(place, q[1:])
	return g.Locals[q[0]], true
}

// Form notes a bulk whose members were taken.
func (a *Memo) Form(b *jjm.Bulk) { a.s.forming[b.Tag] = b }

// GiveBack makes members ready again that were taken for a bulk that was not stored.
func (a *Memo) GiveBack(members []jjm.AttemptID) {
	for _, m := range members {
		if g := a.Grid(m.Grid); g != nil {
			g.ready.Push(g.Locals[m.N].Place, m.N)
		}
	}
}

// Lift ends the ban of somebody, if there is one. The list is a new one: the old one may
// be in use.
func (a *Memo) Lift(b jjm.Ban) { a.s.bans = slices.DeleteFunc(slices.Clone(a.s.bans), b.Same) }

// Ban begins a ban, in the place of one of the same person.
func (a *Memo) Ban(b jjm.Ban) {
	a.Lift(b)
	a.s.bans = append(a.s.bans, b)
}

// SourceTrouble shows why files of a dataset of a grid job do not come, "" if they do.
func (a *Memo) SourceTrouble(id jjm.GridID, dataset int, text string) {
	g := a.Grid(id)
	if g == nil || g.Reads == nil {
		return
	}
	if g.Reads.trouble == nil {
		g.Reads.trouble = map[int]string{}
	}
	g.Reads.trouble[dataset] = text
	g.touch()
}

// Lacks notes why an open secondary dataset of a grid job is waited for, "" if none is.
func (a *Memo) Lacks(id jjm.GridID, text string) {
	if g := a.Grid(id); g != nil && g.Reads != nil {
		g.Reads.lacks = text
	}
}

// KnowInputs notes which datasets the first step of a grid job reads, and gives how much
// news there was.
func (a *Memo) KnowInputs(id jjm.GridID, datasets []store.DatasetID) (news, marked uint64) {
	r := a.Grid(id).Reads
	r.datasets = datasets
	return r.news, r.marked
}

// Withdrew notes that local jobs gave back what they own of marked files, as of so much
// news of marks.
func (a *Memo) Withdrew(id jjm.GridID, marked uint64) {
	if g := a.Grid(id); g != nil && g.Reads != nil {
		g.Reads.withdrawn = marked + 1
	}
}

// Rest notes why a step makes no local jobs now, unless there is news since.
func (a *Memo) Rest(id jjm.GridID, step int32, news uint64, why string) {
	g := a.Grid(id)
	if g == nil || g.reads(step).news != news {
		return
	}
	g.reads(step).idle = why
	g.touch()
}

// News notes that there is news of a dataset, marks of files if so, and gives the grid
// jobs that read it.
func (a *Memo) News(id store.DatasetID, marks bool) (readers []jjm.GridID) {
	for gid, g := range a.s.grids {
		if g.Reads == nil || g.Reads.datasets != nil && !slices.Contains(g.Reads.datasets, id) {
			continue
		}
		g.Reads.news++
		if marks {
			g.Reads.marked++
		}
		g.Reads.idle = ""
		readers = append(readers, gid)
	}
	return readers
}

// WaitsForTime reports whether a grid job is idle and time alone may wake it: time lets a
// merge begin, or a sibling's result does.
func (m Memory) WaitsForTime(id jjm.GridID) bool { return m.timed(id) != nil }

// timed returns the step of a grid job that is idle and that time alone may wake, or nil.
func (m Memory) timed(id jjm.GridID) *Reads {
	g := m.Grid(id)
	switch {
	case g == nil || g.Idle() == "":
		return nil
	case g.Reads != nil && timed(g.Job.Step.Splitter):
		return g.Reads
	}
	return g.Merge
}

// NextLook says when such a grid job is to be looked at by itself, 0 for never, where
// that is done every so often.
func (a *Memo) NextLook(id jjm.GridID, now jjm.Time, poll time.Duration) time.Duration {
	r := a.timed(id)
	if r == nil {
		return 0
	}
	if r.due == 0 || r.due > now.Add(poll) { // or the clock was set back
		r.due = now.Add(poll)
	}
	if now < r.due {
		return r.due.Sub(now)
	}
	r.idle, r.due = "", 0
	a.Grid(id).wakeMerge()
	return time.Millisecond
}

// timed reports whether what a splitter cuts depends on more than its files.
func timed(splitter string) bool {
	switch splitter {
	case split.ParentlessMergeBySize, split.WMBSMergeBySize, split.SiblingProcessingBased:
		return true
	}
	return false
}
