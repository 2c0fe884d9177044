package state

import (
	"iter"
	"maps"

	"jjm/internal/jjm"
)

// Memory is reached through these types only. Each stands for the locks that are held:
//
//	type    made by          may                                             locks held
//	View    State.View       read                                            memory, shared
//	Marks   State.Mark       read, note what loops have to do                memory
//	Memo    State.Adjust     read, change what is not in the store           changes, memory
//	Change  State.Change     read, change copies of rows                     changes; both while it is applied
//
// Rows change only under both locks, so holding either is enough to read them. What Marks may
// change is read under the memory lock only. The lock of changes is taken before the memory
// lock, never after it.

// Memory is the right to read memory while a lock is held. A function that takes a Memory
// relies on the lock of its caller, and must not keep what it returns.
type Memory struct{ s *State }

// Grid returns a live grid job, or nil.
func (m Memory) Grid(id jjm.GridID) *Grid { return m.s.grids[id] }

// Grids returns the live grid jobs, in no order.
func (m Memory) Grids() iter.Seq2[jjm.GridID, *Grid] { return maps.All(m.s.grids) }

// Bulk returns a bulk that is not closed, or nil.
func (m Memory) Bulk(tag jjm.Tag) *Bulk { return m.s.bulks[tag] }

// Bulks returns the bulks that are not closed, in no order.
func (m Memory) Bulks() iter.Seq2[jjm.Tag, *Bulk] { return maps.All(m.s.bulks) }

// BulksOf returns the bulks of an account that are not closed, in no order.
func (m Memory) BulksOf(uid int) iter.Seq2[jjm.Tag, *Bulk] { return maps.All(m.s.bulksOf[uid]) }

// Forming returns the bulks that are being formed: their members are taken, but they are
// not stored yet.
func (m Memory) Forming() iter.Seq2[jjm.Tag, *jjm.Bulk] { return maps.All(m.s.forming) }

// InUse reports whether the folder of a bulk is needed: it is open, being formed, or the
// last bulk of a local job of a live grid job.
func (m Memory) InUse(tag jjm.Tag) bool {
	return m.s.bulks[tag] != nil || m.s.uses[tag] > 0 || m.s.forming[tag] != nil
}

// Harvested returns the accounts whose work areas are to be looked into: they have open
// bulks, or folders to remove.
func (m Memory) Harvested() map[int]bool {
	uids := map[int]bool{}
	for uid := range m.s.bulksOf {
		uids[uid] = true
	}
	for uid := range m.s.unused {
		uids[uid] = true
	}
	for uid := range m.s.unswept {
		uids[uid] = true
	}
	return uids
}

// Bans returns the bans in force. The slice is never changed in place.
func (m Memory) Bans() []jjm.Ban { return m.s.bans }

// View is a lookup in progress.
type View struct{ Memory }

// View starts a lookup; Close ends it. The caller must not block in between.
func (s *State) View() *View {
	s.mem.RLock()
	return &View{Memory{s}}
}

// Close ends the lookup. Afterwards, values that were read through the View must not be used, except
// copies.
func (v *View) Close() {
	s := v.s
	v.s = nil
	s.mem.RUnlock()
}

// Marks notes what records and loops have to do.
type Marks struct{ Memory }

// Mark runs do under the memory lock. do must not block.
func (s *State) Mark(do func(*Marks)) {
	s.mem.Lock()
	defer s.mem.Unlock()
	do(&Marks{Memory{s}})
}

// Memo changes facts that are only in memory.
type Memo struct{ Memory }

// Adjust runs do under both locks. It waits for a change that is being committed, so it
// must not be called inside a change or a View.
func (s *State) Adjust(do func(*Memo)) {
	s.write.Lock()
	defer s.write.Unlock()
	s.mem.Lock()
	defer s.mem.Unlock()
	do(&Memo{Memory{s}})
}
