package state

import (
	"slices"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/split"
)

// MarkWhole marks all shards of a grid job's record to be written, once in the grid job's
// life.
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

// Forget removes a grid job from memory, after it was moved to the history.
func (a *Memo) Forget(id jjm.GridID) { a.s.untrack(id) }

// ShowTrouble sets why the next step of a grid job fails at present, for people; "" if it
// does not fail.
func (a *Memo) ShowTrouble(id jjm.GridID, text string) {
	if g := a.Grid(id); g != nil {
		g.trouble = text
		g.touch()
	}
}

// Fail sets the reason why a grid job can never continue.
func (a *Memo) Fail(id jjm.GridID, why string) {
	if g := a.Grid(id); g != nil {
		g.failure = why
	}
}

// SetCutting remembers how a grid job is cut, as its job type decided.
func (a *Memo) SetCutting(id jjm.GridID, c *Cutting) {
	if g := a.Grid(id); g != nil {
		g.cutting = c
	}
}

// ShowProgress sets the progress that the applications of a bulk's members report, by position, and notes how far the
// files were read; see LiveLook. It reports whether the progress of a member changed.
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

// SetWaits sets why a queued batch job waits, nil if the batch system does not say.
func (a *Memo) SetWaits(id jjm.AttemptID, w *jjm.Waiting) {
	if l := a.Current(id); l != nil && l.State == jjm.Submitted {
		l.Waits = w
	}
}

// SetHolding replaces the holding of an attempt, if it still is old and the attempt is current.
func (a *Memo) SetHolding(id jjm.AttemptID, old, now *jjm.Holding) {
	if l := a.Local(id.LocalID); l != nil && l.Attempt == id.Attempt && l.Holding == old {
		l.Holding = now
	}
}

// SetReleased sets when a held bulk was released.
func (a *Memo) SetReleased(tag jjm.Tag, now jjm.Time) {
	if b := a.Bulk(tag); b != nil {
		b.released = now
	}
}

// Due moves the waiting local jobs of a grid job whose NotBefore has passed to the ready local jobs.
func (a *Memo) Due(g *Grid, now jjm.Time) { g.due(now) }

// Ready returns an upper bound of the number of ready local jobs of a grid job at a
// place; 0 is exact.
func (a *Memo) Ready(g *Grid, place int32, now jjm.Time) int { return g.trim(place, now) }

// Take removes the first ready local job of a place from the queue of ready local jobs and
// returns a copy; ok is false if there is none.
func (a *Memo) Take(g *Grid, place int32, now jjm.Time) (l jjm.LocalJob, ok bool) {
	if g.trim(place, now) == 0 {
		return l, false
	}
	q := g.ready.Of(place)
	g.queuedAt.remove(q[0], place)
	g.ready.Set(place, q[1:])
	return g.Locals[q[0]], true
}

// Form adds a bulk to the bulks being formed.
func (a *Memo) Form(b *jjm.Bulk) { a.s.forming[b.Tag] = b }

// GiveBack makes the members ready again after their bulk could not be stored.
func (a *Memo) GiveBack(members []jjm.AttemptID) {
	for _, m := range members {
		if g := a.Grid(m.Grid); g != nil {
			g.makeReady(m.N)
		}
	}
}

// Lift removes the ban of a person. It makes a new slice, because readers may still use the old slice.
func (a *Memo) Lift(b jjm.Ban) { a.s.bans = slices.DeleteFunc(slices.Clone(a.s.bans), b.Same) }

// Ban adds a ban. A new ban replaces an older ban of the same person.
func (a *Memo) Ban(b jjm.Ban) {
	a.Lift(b)
	a.s.bans = append(a.s.bans, b)
}

// SourceTrouble sets why the source of a dataset of a grid job cannot be read, "" if it
// can. dataset is its position in the job file.
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

// Lacks sets why a grid job waits for an open secondary dataset, "" if it does not.
func (a *Memo) Lacks(id jjm.GridID, text string) {
	if g := a.Grid(id); g != nil && g.Reads != nil {
		g.Reads.lacks = text
	}
}

// SetInputs sets which datasets the first step of a grid job reads, and returns the step's
// present counts of news, marks and fills.
func (a *Memo) SetInputs(id jjm.GridID, datasets []store.DatasetID) (news, marked, fills uint64) {
	r := a.Grid(id).Reads
	r.datasets = datasets
	return r.news, r.marked, r.fills
}

// Withdrew notes that local jobs gave back what they own of marked files, for all marks
// up to the count marked.
func (a *Memo) Withdrew(id jjm.GridID, marked uint64) {
	if g := a.Grid(id); g != nil && g.Reads != nil {
		g.Reads.withdrawn = marked + 1
	}
}

// SetIdle sets why a step can make no local jobs now, unless the step has had news since
// its count of news was news.
func (a *Memo) SetIdle(id jjm.GridID, step int32, news uint64, why string) {
	g := a.Grid(id)
	if g == nil || g.reads(step).news != news {
		return
	}
	g.reads(step).setIdle(why, false)
	g.touch()
}

// News counts news about a dataset and, if marks is true, also news about marked files. It returns the grid jobs that
// read the dataset; these grid jobs are no longer idle.
func (a *Memo) News(id store.DatasetID, marks bool) (readers []jjm.GridID) {
	for gid, g := range a.s.grids {
		if !g.mayRead(id) {
			continue
		}
		g.Reads.news++
		if marks {
			g.Reads.marked++
		}
		g.Reads.setIdle("", false)
		readers = append(readers, gid)
	}
	return readers
}

// WaitsForTime reports whether an idle grid job may have to continue without news, because merges start when files have
// waited long enough, or when siblings end.
func (m Memory) WaitsForTime(id jjm.GridID) bool { return m.timed(id) != nil }

// timed returns the step of an idle grid job that may have to continue without news, or nil.
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

// NextLook returns the time until an idle grid job that WaitsForTime must be looked at again,
// 0 for never. Once in each interval of poll, it makes the grid job no longer idle.
func (a *Memo) NextLook(id jjm.GridID, now jjm.Time, poll time.Duration) time.Duration {
	r := a.timed(id)
	if r == nil {
		return 0
	}
	if r.due == 0 || r.due > now.Add(poll) { // it is later only after the clock was set back
		r.due = now.Add(poll)
	}
	if now < r.due {
		return r.due.Sub(now)
	}
	r.idle, r.due = "", 0
	a.Grid(id).wakeMerge()
	return time.Millisecond
}

// timed reports whether the parts that a splitter cuts depend on more than its files: on
// time, or on the ends of local jobs.
func timed(splitter string) bool {
	switch splitter {
	case split.ParentlessMergeBySize, split.WMBSMergeBySize, split.SiblingProcessingBased:
		return true
	}
	return false
}
