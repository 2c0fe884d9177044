package state

import (
	"iter"
	"maps"
	"slices"

	"jjm/internal/jjm"
)

// published tracks which parts of a grid job's record on disk are out of date and must be written.
type published struct {
	// dirty contains the numbers of the shards that must be written. headDirty is set if the head must be written.
	dirty     map[int]bool
	headDirty bool
	// pointed is set if the file of the grid job's handle points to the record of this grid job, or to the record of a
	// later grid job with the same handle. A handle stands for the account and the request key of a submission.
	pointed bool
	// history is the number of the last journal entry that the record contains, 0 if that is not known.
	history int64
	// whole is set once all shards were marked to be written a last time.
	whole bool
	// swept is set once Sweep has ended the grid job's use of bulks.
	swept bool
	// version grows with every change of the grid job. Programs that watch the grid job compare it.
	version uint64
}

// touch notes that the head of the record must be written, and raises the version, so that watchers look at the grid
// job again.
func (p *published) touch() {
	p.headDirty = true
	p.version++
}

// Behind reports whether a part of a grid job's record is out of date. It returns false if the grid job is not live.
func (m Memory) Behind(id jjm.GridID) bool {
	g := m.Grid(id)
	return g != nil && (g.headDirty || len(g.dirty) > 0)
}

// HistoryAt returns the number of the last journal entry that a grid job's record contains, 0 if that is not known.
func (m Memory) HistoryAt(id jjm.GridID) int64 {
	if g := m.Grid(id); g != nil {
		return g.history
	}
	return 0
}

// Version returns a number above 0 that grows with every change of a grid job. It returns 0 if the grid job is not
// live.
func (m Memory) Version(id jjm.GridID) uint64 {
	if g := m.Grid(id); g != nil {
		return g.version + 1
	}
	return 0
}

// Pointed reports whether the file of the grid job's handle points to the record of this grid job, or of a later grid
// job with the same handle.
func (g *Grid) Pointed() bool { return g.pointed }

// Stale marks the head and the shards with the given numbers to be written.
func (m *Marks) Stale(id jjm.GridID, shards ...int) {
	g := m.Grid(id)
	if g == nil {
		return
	}
	g.headDirty = true
	for _, n := range shards {
		g.dirty[n] = true
	}
}

// StaleWhole marks the head and all shards of a record to be written.
func (m *Marks) StaleWhole(id jjm.GridID) {
	g := m.Grid(id)
	if g == nil {
		return
	}
	g.touch()
	for n := 0; n*ShardSize < len(g.Locals); n++ {
		g.dirty[n] = true
	}
}

// StaleAll marks the records and the handles' files of all live grid jobs to be written again, as if none of the files
// existed.
func (m *Marks) StaleAll() {
	for id, g := range m.s.grids {
		m.StaleWhole(id)
		g.history, g.pointed = 0, false
	}
}

// StaleWhere marks the record heads of those grid jobs for which the function which returns true, and returns the ids
// of these grid jobs.
func (m *Marks) StaleWhere(which func(*Grid) bool) (ids []jjm.GridID) {
	for id, g := range m.s.grids {
		if which(g) {
			g.touch()
			ids = append(ids, id)
		}
	}
	return ids
}

// TakeStale returns the numbers of the shards that are to be written now, sorted, and removes their marks and the mark
// of the head. If some is true, the head is to be written too; if some is false, nothing is to be written. While a grid
// job is being cut into local jobs, TakeStale returns no shards and keeps their marks, because the last shard would
// have to be written again with every cut.
func (m *Marks) TakeStale(id jjm.GridID) (shards []int, some bool) {
	g := m.Grid(id)
	if g == nil || !g.headDirty && len(g.dirty) == 0 {
		return nil, false
	}
	if g.Job.Step.Closed || g.Job.Status.Final() || g.Idle() != "" {
		for n := range g.dirty {
			shards = append(shards, n)
		}
		clear(g.dirty)
	}
	if !g.headDirty && len(shards) == 0 {
		return nil, false
	}
	g.headDirty = false
	slices.Sort(shards)
	return shards, true
}

// TellsUpTo notes the number of the last journal entry that a grid job's record contains.
func (m *Marks) TellsUpTo(id jjm.GridID, seq int64) {
	if g := m.Grid(id); g != nil {
		g.history = seq
	}
}

// Point notes in leads whether the file of a grid job's handle points where it should; see Grid.Pointed. If leads is
// false, Point marks the head to be written, because the file is written together with the head.
func (m *Marks) Point(id jjm.GridID, leads bool) {
	if g := m.Grid(id); g != nil {
		g.pointed = leads
		g.headDirty = g.headDirty || !leads
	}
}

// Sweep ends the use of bulks by the local jobs of a grid job that has ended and is still in memory; further calls for
// the grid job do nothing. If no other live grid job uses a bulk, Sweep adds the bulk to the bulks whose folders are to
// be removed.
func (m *Marks) Sweep(id jjm.GridID) {
	g := m.Grid(id)
	for i := range g.Locals {
		tag := g.Locals[i].Tag
		if tag == "" || g.swept {
			continue
		}
		if m.s.uses[tag]--; m.s.uses[tag] == 0 {
			m.s.markUnused(g.Job.Owner, tag)
			delete(m.s.uses, tag)
		}
	}
	g.swept = true
}

// TakeUnused returns the bulks of an account whose folders are to be removed, and removes them from memory.
func (m *Marks) TakeUnused(uid int) []UnusedBulk {
	unused := m.s.unused[uid]
	delete(m.s.unused, uid)
	return unused
}

// TakeUnswept returns the owners of an account whose work areas were not swept since the daemon's start, and removes
// them from memory.
func (m *Marks) TakeUnswept(uid int) map[jjm.Owner]bool {
	owners := map[jjm.Owner]bool{}
	for _, owner := range m.s.unswept[uid] {
		owners[owner] = true
	}
	delete(m.s.unswept, uid)
	return owners
}

// Looked notes a look at the folder with the results of a bulk. next is the position of the member at which the next
// look continues, negative if this look saw all results. seen is the time stamp of the folder at the beginning of the
// look, 0 if the look did not see all results.
func (m *Marks) Looked(tag jjm.Tag, next int32, seen int64) {
	b := m.Bulk(tag)
	if b == nil {
		return
	}
	b.Look.NextDone = max(next, 0)
	if seen != 0 {
		b.Look.Done = seen
	}
}

// Try notes that the submission command of a bulk starts now. It also clears the mark of Unsend.
func (m *Marks) Try(tag jjm.Tag, now jjm.Time) {
	if b := m.Bulk(tag); b != nil {
		b.tried, b.unsent = now, false
	}
}

// Unsend notes that no command of the batch system was started for a bulk since the bulk was made.
func (m *Marks) Unsend(tag jjm.Tag) {
	if b := m.Bulk(tag); b != nil {
		b.unsent = true
	}
}

// Unsent reports whether no command of the batch system was started for a bulk since the bulk was made. After a restart
// of the daemon it returns false, because the fact is not stored.
func (m *Marks) Unsent(tag jjm.Tag) bool {
	b := m.Bulk(tag)
	return b != nil && b.unsent
}

// Tried returns when the submission command of a bulk last started. If none was started since the daemon's start, or if
// the bulk is not open, it returns made, the time at which the bulk was formed. The time of an open bulk is never after
// now: if the clock was set back, waits count from now on.
func (m *Marks) Tried(tag jjm.Tag, made, now jjm.Time) jjm.Time {
	b := m.Bulk(tag)
	if b == nil {
		return made
	}
	if b.tried == 0 {
		b.tried = made
	}
	b.tried = min(b.tried, now)
	return b.tried
}

// Formed removes a bulk from the bulks that are being formed, because the bulk is now stored or was given up.
func (m *Marks) Formed(tag jjm.Tag) { delete(m.s.forming, tag) }

// Shorten reduces a bulk that is being formed to its first n members.
func (m *Marks) Shorten(b *jjm.Bulk, n int) { b.Members = b.Members[:n:n] }

// InOrder returns the live grid jobs, in the order of their ids: the oldest first.
func (m Memory) InOrder() iter.Seq2[jjm.GridID, *Grid] {
	return func(yield func(jjm.GridID, *Grid) bool) {
		for _, id := range slices.Sorted(maps.Keys(m.s.grids)) {
			if !yield(id, m.s.grids[id]) {
				return
			}
		}
	}
}

// Places returns the numbers of the places that may have ready local jobs.
func (g *Grid) Places() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for place := range int32(len(g.ready)) {
			if !yield(place) {
				return
			}
		}
	}
}

// ReadyAt returns an upper bound of the number of local jobs that are ready at a place.
func (g *Grid) ReadyAt(place int32) int { return len(g.ready.Of(place)) }

// LookedForFragments notes a look at the folder with the fragments of a bulk's records; see LiveLook.note.
func (m *Marks) LookedForFragments(tag jjm.Tag, next int32, seen, now int64) {
	if b := m.Bulk(tag); b != nil {
		b.Look.Fragments.note(next, seen, now)
	}
}
