package state

import (
	"iter"
	"maps"
	"slices"

	"jjm"
)

// published is what a record is behind with.
type published struct {
	// dirty are the record's shards to rewrite; headDirty its head.
	dirty     map[int]bool
	headDirty bool
	// pointed is set once the handle of its key leads to its record.
	pointed bool
	// whole is set once the whole record was marked for its last writing.
	whole bool
	// swept is set once its bulks are not counted as in use any more.
	swept bool
	// version grows with every change: watchers compare it.
	version uint64
}

// touch notes that the head of the record is behind, and that watchers have news.
func (p *published) touch() {
	p.headDirty = true
	p.version++
}

// Behind reports whether the record of a grid job is not as it should be.
func (m Memory) Behind(id jjm.GridID) bool {
	g := m.Grid(id)
	return g != nil && (g.headDirty || len(g.dirty) > 0)
}

// Version grows with every change of a grid job; 0 if it is not live.
func (m Memory) Version(id jjm.GridID) uint64 {
	if g := m.Grid(id); g != nil {
		return g.version + 1
	}
	return 0
}

// Pointed reports whether the handle of a live grid job leads to its record.
func (g *Grid) Pointed() bool { return g.pointed }

// Stale marks the head of a record, and shards of it, as behind.
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

// StaleWhere marks the records of some grid jobs as behind and gives these.
func (m *Marks) StaleWhere(which func(*Grid) bool) (ids []jjm.GridID) {
	for id, g := range m.s.grids {
		if which(g) {
			g.touch()
			ids = append(ids, id)
		}
	}
	return ids
}

// TakeStale takes what of a record is to be written; false if nothing is. While the
// cutting goes on only the head is: the shards would be rewritten with every chunk.
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

// Point notes whether the handle of a grid job leads to its record.
func (m *Marks) Point(id jjm.GridID, leads bool) {
	if g := m.Grid(id); g != nil {
		g.pointed = leads
		g.headDirty = g.headDirty || !leads
	}
}

// Sweep has the bulks of a grid job that is over not count as in use any more, but those
// that other live grid jobs were in.
func (m *Marks) Sweep(id jjm.GridID) {
	g := m.Grid(id)
	for i := range g.Locals {
		tag := g.Locals[i].Tag
		if tag == "" || g.swept {
			continue
		}
		if m.s.uses[tag]--; m.s.uses[tag] == 0 {
			m.s.unuse(g.Job.Owner, tag)
			delete(m.s.uses, tag)
		}
	}
	g.swept = true
}

// TakeUnused takes the bulks of an account whose folders are to be removed.
func (m *Marks) TakeUnused(uid int) []UnusedBulk {
	unused := m.s.unused[uid]
	delete(m.s.unused, uid)
	return unused
}

// TakeUnswept takes the owners of an account whose areas were not swept since the start.
func (m *Marks) TakeUnswept(uid int) map[jjm.Owner]bool {
	owners := map[jjm.Owner]bool{}
	for _, owner := range m.s.unswept[uid] {
		owners[owner] = true
	}
	delete(m.s.unswept, uid)
	return owners
}

// Looked notes how far a look at the results of a bulk came, and the folder's time if
// all of it was seen; 0 if not.
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

// Try notes that the command of a bulk begins to run.
func (m *Marks) Try(tag jjm.Tag, now jjm.Time) {
	if b := m.Bulk(tag); b != nil {
		b.tried = now
	}
}

// Tried returns when the command of a bulk last ran or began to, at the latest now, for
// the clock may have been set back; made is when the bulk was formed.
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

// Formed notes that a bulk is stored, or will not be.
func (m *Marks) Formed(tag jjm.Tag) { delete(m.s.forming, tag) }

// Shorten leaves a bulk that is being formed its first members.
func (m *Marks) Shorten(b *jjm.Bulk, n int) { b.Members = b.Members[:n:n] }

// InOrder are the live grid jobs, oldest first.
func (m Memory) InOrder() iter.Seq2[jjm.GridID, *Grid] {
	return func(yield func(jjm.GridID, *Grid) bool) {
		for _, id := range slices.Sorted(maps.Keys(m.s.grids)) {
			if !yield(id, m.s.grids[id]) {
				return
			}
		}
	}
}

// Places are those of which there may be something ready.
func (g *Grid) Places() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for place := range int32(len(g.ready)) {
			if !yield(place) {
				return
			}
		}
	}
}

// ReadyAt returns how many local jobs are ready at a place, at most.
func (g *Grid) ReadyAt(place int32) int { return len(g.ready.Of(place)) }

// LookedForFragments notes how far a look at the fragments of a bulk came, when it was,
// and the folder's time if it came to the end.
func (m *Marks) LookedForFragments(tag jjm.Tag, next int32, seen, now int64) {
	if b := m.Bulk(tag); b != nil {
		b.Look.Fragments.note(next, seen, now)
	}
}
