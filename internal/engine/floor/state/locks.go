package state

import (
	"iter"
	"maps"

	"jjm/internal/jjm"
)

// Other packages reach the memory of a State only through the following types. The type of a value shows which locks
// its holder has:
//
//	type    made by          may                                             locks held
//	View    State.View       read                                            memory, shared
//	Marks   State.Mark       read, note what loops have to do                memory
//	Memo    State.Adjust     read, change what is not in the store           changes, memory
//	Change  State.Change     read, change copies of rows                     changes; both while it is applied
//
// Rows change only while both locks are held, so a holder of either lock may read them. The fields that Marks change
// are read only under the memory lock. The lock of changes is always taken before the memory lock.

// Memory is the right to read memory while a lock is held. A function with a parameter of type Memory relies on its
// caller to hold the lock, and must not keep values that it read through the Memory.
type Memory struct{ s *State }

// Grid returns a live grid job, or nil.
func (m Memory) Grid(id jjm.GridID) *Grid { return m.s.grids[id] }

// Grids returns the live grid jobs, in no order.
func (m Memory) Grids() iter.Seq2[jjm.GridID, *Grid] { return maps.All(m.s.grids) }

// Bulk returns an open bulk, or nil.
func (m Memory) Bulk(tag jjm.Tag) *Bulk { return m.s.bulks[tag] }

// Bulks returns the open bulks, in no order.
func (m Memory) Bulks() iter.Seq2[jjm.Tag, *Bulk] { return maps.All(m.s.bulks) }

// BulksOf returns the open bulks of an account, in no order.
func (m Memory) BulksOf(uid int) iter.Seq2[jjm.Tag, *Bulk] { return maps.All(m.s.bulksOf[uid]) }

// Forming returns the bulks that are being formed: their members were taken from the ready local jobs, and the bulks
// are not stored yet.
func (m Memory) Forming() iter.Seq2[jjm.Tag, *jjm.Bulk] { return maps.All(m.s.forming) }

// InUse reports whether the folder of a bulk is still needed. That is the case if the bulk is open or is being formed,
// or if it is the last bulk of a local job of a live grid job.
func (m Memory) InUse(tag jjm.Tag) bool {
	return m.s.bulks[tag] != nil || m.s.uses[tag] > 0 || m.s.forming[tag] != nil
}

// Harvested returns the accounts whose work areas must be looked into, because they have open bulks, whose results
// appear there, or because folders there are to be removed.
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

// Bans returns the bans in force. The caller may keep the slice after the lock is released, because it is never changed
// in place.
func (m Memory) Bans() []jjm.Ban { return m.s.bans }

// View is the right to read memory from State.View until Close.
type View struct{ Memory }

// View takes the memory lock for reading. The caller must call Close soon, and must not block before.
func (s *State) View() *View {
	s.mem.RLock()
	return &View{Memory{s}}
}

// Close releases the memory lock. After Close, the caller must not use values that it read through the View, except
// copies.
func (v *View) Close() {
	s := v.s
	v.s = nil
	s.mem.RUnlock()
}

// Marks is the right to read memory and to note facts for loops, such as which records must be written and how far
// folders were read.
type Marks struct{ Memory }

// Mark runs do while it holds the memory lock. do must not block, and must not keep the Marks.
func (s *State) Mark(do func(*Marks)) {
	s.mem.Lock()
	defer s.mem.Unlock()
	do(&Marks{Memory{s}})
}

// Memo is the right to change facts that are only in memory, not in the store.
type Memo struct{ Memory }

// Adjust runs do while it holds both locks. It waits until the change in progress has been applied to memory, so it
// must not be called inside a change or while a View is open.
func (s *State) Adjust(do func(*Memo)) {
	s.write.Lock()
	defer s.write.Unlock()
	s.mem.Lock()
	defer s.mem.Unlock()
	do(&Memo{Memory{s}})
}
