package state

import (
	"iter"
	"maps"
	"slices"

	"jjm/internal/jjm"
)

// published tracks which parts of a grid job's record must still be written.
type published struct {
	// dirty are the numbers of the shards that must be written. headDirty is set if the head must be written.
	dirty     map[int]bool
	headDirty bool
	// pointed is set once the file of its handle points to its record.
	pointed bool
	// history is the number of the last change that is in the record, 0 = not known.
	history int64
	// whole is set once the whole record was marked to be written a last time.
	whole bool
	// swept is set once its bulks no longer count as in use.
	swept bool
	// version grows with every change: watchers compare it.
	version uint64
}

// touch notes that the head of the record must be written, and makes watchers look at the grid job again.
func (p *published) touch() {
	p.headDirty = true
	p.version++
}

// Behind reports whether a part of a grid job's record is still to be written.
func (m Memory) Behind(id jjm.GridID) bool {
	g := m.Grid(id)
	return g != nil && (g.headDirty || len(g.dirty) > 0)
}

// HistoryAt returns the number of the last change that is in a grid job's record, 0 if
// that is not known.
func (m Memory) HistoryAt(id jjm.GridID) int64 {
	if g := m.Grid(id); g != nil {
		return g.history
	}
	return 0
}

// Version returns a number that grows with every change of a grid job, 0 if it is not
// live.
func (m Memory) Version(id jjm.GridID) uint64 {
	if g := m.Grid(id); g != nil {
		return g.version + 1
	}
	return 0
}

// Pointed reports whether the file of the grid job's handle points to its record.
func (g *Grid) Pointed() bool { return g.pointed }

// Stale marks the head and some shards of a record to be written.
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

// StaleWhole marks all of a record to be written.
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

// StaleAll marks the records of all grid jobs, with every shard, to be written again as if they did not exist.
func (m *Marks) StaleAll() {
	for id, g := range m.s.grids {
		m.StaleWhole(id)
		g.history, g.pointed = 0, false
	}
}

// StaleWhere marks the record heads of the grid jobs that which selects to be written, and
// returns the ids of these grid jobs.
func (m *Marks) StaleWhere(which func(*Grid) bool) (ids []jjm.GridID) {
	for id, g := range m.s.grids {
		if which(g) {
			g.touch()
			ids = append(ids, id)
		}
	}
	return ids
}

// TakeStale returns the shards of a record that are to be written, and unmarks them with the
// head. some is false if nothing is to be written. While a grid job is being cut only the head
// is written, because the last shard would be written again with every cut.
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

// TellsUpTo notes the number of the last change that is in a grid job's record.
func (m *Marks) TellsUpTo(id jjm.GridID, seq int64) {
	if g := m.Grid(id); g != nil {
		g.history = seq
	}
}

// Point notes whether the file of a grid job's handle points to its record. If it does
// not, the record is written again.
func (m *Marks) Point(id jjm.GridID, leads bool) {
	if g := m.Grid(id); g != nil {
		g.pointed = leads
		g.headDirty = g.headDirty || !leads
	}
}

// Sweep ends the use of bulks by an ended grid job. If no other live grid job uses a bulk, the bulk's folder is marked
// to be removed.
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

// TakeUnused returns the bulks of an account whose folders are to be removed, and forgets
// them.
func (m *Marks) TakeUnused(uid int) []UnusedBulk {
	unused := m.s.unused[uid]
	delete(m.s.unused, uid)
	return unused
}

// TakeUnswept returns the owners of an account whose work areas were not swept since the
// daemon started, and forgets them.
func (m *Marks) TakeUnswept(uid int) map[jjm.Owner]bool {
	owners := map[jjm.Owner]bool{}
	for _, owner := range m.s.unswept[uid] {
		owners[owner] = true
	}
	delete(m.s.unswept, uid)
	return owners
}

// Looked notes a look at the results of a bulk: next is the position at which to
// continue, negative if all were seen; seen is the time stamp of the folder then, 0 if
// not all were seen.
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

// Try notes that the submission command of a bulk starts.
func (m *Marks) Try(tag jjm.Tag, now jjm.Time) {
	if b := m.Bulk(tag); b != nil {
		b.tried, b.unsent = now, false
	}
}

// Unsend notes that no command was started since the bulk was made.
func (m *Marks) Unsend(tag jjm.Tag) {
	if b := m.Bulk(tag); b != nil {
		b.unsent = true
	}
}

// Unsent reports whether no command was started since the bulk was made.
func (m *Marks) Unsent(tag jjm.Tag) bool {
	b := m.Bulk(tag)
	return b != nil && b.unsent
}

// Tried returns when the submission command of a bulk last started. If no submission command started since the daemon's
// start, it returns made, the time at which the bulk was formed. The result is never after now: if the clock was set
// back, waits count from now on.
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

// Formed notes that a bulk is stored or given up.
func (m *Marks) Formed(tag jjm.Tag) { delete(m.s.forming, tag) }

// Shorten cuts a bulk that is being formed to its first n members.
func (m *Marks) Shorten(b *jjm.Bulk, n int) { b.Members = b.Members[:n:n] }

// InOrder returns the live grid jobs, oldest first.
func (m Memory) InOrder() iter.Seq2[jjm.GridID, *Grid] {
	return func(yield func(jjm.GridID, *Grid) bool) {
		for _, id := range slices.Sorted(maps.Keys(m.s.grids)) {
			if !yield(id, m.s.grids[id]) {
				return
			}
		}
	}
}

// Places returns the places that may have ready local jobs.
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

// LookedForFragments notes a look at the fragments of a bulk; see LiveLook.
func (m *Marks) LookedForFragments(tag jjm.Tag, next int32, seen, now int64) {
	if b := m.Bulk(tag); b != nil {
		b.Look.Fragments.note(next, seen, now)
	}
}
