package state

import (
	"slices"
	"time"

	"jjm/internal/credential"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/split"
)

// MarkWhole marks all shards of a grid job's record to be written. Only the first call for a grid job has an effect.
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

// Forget removes a grid job from memory. The caller has moved the grid job to the history of the store.
func (a *Memo) Forget(id jjm.GridID) { a.s.untrack(id) }

// ShowTrouble sets the reason, for people, why the next step of a grid job fails at present; "" if it does not fail.
func (a *Memo) ShowTrouble(id jjm.GridID, text string) {
	if g := a.Grid(id); g != nil {
		g.trouble = text
		g.touch()
	}
}

// Fail sets the reason why a grid job can never continue; see Grid.Failure.
func (a *Memo) Fail(id jjm.GridID, why string) {
	if g := a.Grid(id); g != nil {
		g.failure = why
	}
}

// SetCutting stores how a job type decided to cut a grid job into parts; see Grid.Cutting.
func (a *Memo) SetCutting(id jjm.GridID, c *Cutting) {
	if g := a.Grid(id); g != nil {
		g.cutting = c
	}
}

// ShowProgress sets the progress that the applications of a bulk's members reported: ps has it by position of the
// member. next, seen and now describe the look at the progress files; see LiveLook.note. changed is true if the
// progress of a member changed.
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

// SetWaits sets the reason why the queued batch job of an attempt waits; nil if the batch system reports no reason. It
// does nothing if the local job no longer is in state submitted or has a newer attempt.
func (a *Memo) SetWaits(id jjm.AttemptID, w *jjm.Waiting) {
	if l := a.Current(id); l != nil && l.State == jjm.Submitted {
		l.Waits = w
	}
}

// SetHolding sets the Holding of an attempt's local job to now. It does nothing if the Holding is no longer old, or if
// the local job has a newer attempt.
func (a *Memo) SetHolding(id jjm.AttemptID, old, now *jjm.Holding) {
	if l := a.Local(id.LocalID); l != nil && l.Attempt == id.Attempt && l.Holding == old {
		l.Holding = now
	}
}

// SetReleased sets when jjm ordered the batch system to release a bulk that was submitted held; see Bulk.Released.
func (a *Memo) SetReleased(tag jjm.Tag, now jjm.Time) {
	if b := a.Bulk(tag); b != nil {
		b.released = now
	}
}

// Due moves the waiting local jobs of a grid job whose time (NotBefore) has come to the queues of ready local jobs.
func (a *Memo) Due(g *Grid, now jjm.Time) { g.due(now) }

// Ready returns an upper bound of the number of ready local jobs of a grid job at a place. If the result is 0, there
// certainly is none.
func (a *Memo) Ready(g *Grid, place int32, now jjm.Time) int { return g.trim(place, now) }

// Take removes the first ready local job of a place from its queue and returns a copy of its row. ok is false if no
// local job is ready there.
func (a *Memo) Take(g *Grid, place int32, now jjm.Time) (l jjm.LocalJob, ok bool) {
	if g.trim(place, now) == 0 {
		return l, false
	}
	q := g.ready.Of(place)
	g.queuedAt.remove(q[0], place)
	g.ready.Set(place, q[1:])
	return g.Locals[q[0]], true
}

// Form adds a bulk to the bulks that are being formed; see Memory.Forming.
func (a *Memo) Form(b *jjm.Bulk) { a.s.forming[b.Tag] = b }

// GiveBack makes the members of a bulk ready again, because the bulk was not stored.
func (a *Memo) GiveBack(members []jjm.AttemptID) {
	for _, m := range members {
		if g := a.Grid(m.Grid); g != nil {
			g.makeReady(m.N)
		}
	}
}

// Lift removes the ban of the person to whom b applies. It replaces the slice of bans by a new slice, because readers
// may still use the old one.
func (a *Memo) Lift(b jjm.Ban) {
	a.s.bans = slices.DeleteFunc(slices.Clone(a.s.bans), func(old jjm.Ban) bool { return credential.SameBan(old, b) })
}

// Ban adds a ban. The ban replaces an older ban of the same person.
func (a *Memo) Ban(b jjm.Ban) {
	a.Lift(b)
	a.s.bans = append(a.s.bans, b)
}

// SourceTrouble sets the reason why the source of a dataset of a grid job cannot be read; "" if it can be read. dataset
// is the position of the dataset in the job file.
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

// Lacks sets the reason why a grid job waits for files of a secondary dataset that is still open; "" if it does not
// wait.
func (a *Memo) Lacks(id jjm.GridID, text string) {
	if g := a.Grid(id); g != nil && g.Reads != nil {
		g.Reads.lacks = text
	}
}

// SetInputs sets which datasets the first step of a grid job reads. It returns the present values of the step's
// counters news, marked and fills (see Reads), so that the caller can find out later whether something changed.
func (a *Memo) SetInputs(id jjm.GridID, datasets []store.DatasetID) (news, marked, fills uint64) {
	r := a.Grid(id).Reads
	r.datasets = datasets
	return r.news, r.marked, r.fills
}

// Withdrew notes that the local jobs of a grid job that waited for submission have given back their work on marked
// files. It covers the marks up to marked, an earlier value of Reads.Marked; if files were marked since,
// Reads.ToWithdraw stays true.
func (a *Memo) Withdrew(id jjm.GridID, marked uint64) {
	if g := a.Grid(id); g != nil && g.Reads != nil {
		g.Reads.withdrawn = marked + 1
	}
}

// SetIdle sets the reason why a step can make no local jobs now. It does nothing if the step's counter of news is no
// longer news: then the step must look again.
func (a *Memo) SetIdle(id jjm.GridID, step int32, news uint64, why string) {
	g := a.Grid(id)
	if g == nil || g.reads(step).news != news {
		return
	}
	g.reads(step).setIdle(why, false)
	g.touch()
}

// News counts news about a dataset for each grid job that reads it: new or lost files, or a closed dataset. If marks is
// true, it also counts that files were marked. The grid jobs are then no longer idle, and News returns their ids.
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

// WaitsForTime reports whether an idle grid job must be looked at from time to time even without news. For some
// splitters, files that have waited long enough are merged, or parts depend on other local jobs (siblings) that end.
func (m Memory) WaitsForTime(id jjm.GridID) bool { return m.timed(id) != nil }

// timed returns the Reads of the step for which WaitsForTime is true, or nil.
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

// NextLook returns the time until an idle grid job must be looked at again, 0 if WaitsForTime is false for it. At the
// end of each interval of length poll, NextLook makes the grid job no longer idle, and returns one millisecond.
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

// timed reports whether the parts that a splitter cuts depend on more than the files of the dataset: on the time that
// files have waited, or on the ends of other local jobs.
func timed(splitter string) bool {
	switch splitter {
	case split.ParentlessMergeBySize, split.WMBSMergeBySize, split.SiblingProcessingBased:
		return true
	}
	return false
}
