package state

import (
	"iter"
	"maps"

	"jjm"
)

// What is in memory is reached through one of these alone, each of which stands for
// the locks that are held:
//
//	View    a lookup        reads                                  memory lock, shared
//	Marks   a short note    reads, notes what loops have to do     memory lock
//	Memo    an adjustment   reads, notes what memory alone knows   both locks
//	Change  a transaction   reads what is live, changes copies     lock of changes
//
// Rows change only where both locks are held, so holding either is enough to read them.
// What Marks may change - what records and loops have to do - is read under the memory
// lock alone.

// Memory is the right to read what is in memory, as long as a lock is held: a function
// that takes one relies on its caller's.
type Memory struct{ s *State }

// Grid returns a live grid job, or nil.
func (m Memory) Grid(id jjm.GridID) *Grid { return m.s.grids[id] }

// Grids are the live grid jobs.
func (m Memory) Grids() iter.Seq2[jjm.GridID, *Grid] { return maps.All(m.s.grids) }

// Bulk returns a bulk that is not closed, or nil.
func (m Memory) Bulk(tag jjm.Tag) *Bulk { return m.s.bulks[tag] }

// Bulks are those that are not closed.
func (m Memory) Bulks() iter.Seq2[jjm.Tag, *Bulk] { return maps.All(m.s.bulks) }

// BulksOf are those of an account.
func (m Memory) BulksOf(uid int) iter.Seq2[jjm.Tag, *Bulk] { return maps.All(m.s.bulksOf[uid]) }

// Forming are the bulks that were taken from what is ready and are not stored yet.
func (m Memory) Forming() iter.Seq2[jjm.Tag, *jjm.Bulk] { return maps.All(m.s.forming) }

// InUse reports whether something points to a bulk, or will: it may just be formed.
func (m Memory) InUse(tag jjm.Tag) bool {
	return m.s.bulks[tag] != nil || m.s.uses[tag] > 0 || m.s.forming[tag] != nil
}

// Harvested are the accounts whose folders there is a reason to look into.
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

// Bans are those in force.
func (m Memory) Bans() []jjm.Ban { return m.s.bans }

// View is a lookup under way.
type View struct{ Memory }

// View begins a lookup; Close ends it. In between nothing is waited for.
func (s *State) View() *View {
	s.mem.RLock()
	return &View{Memory{s}}
}

// Close ends the lookup: what it gave must not be used any more.
func (v *View) Close() {
	s := v.s
	v.s = nil
	s.mem.RUnlock()
}

// Marks is a short note under way.
type Marks struct{ Memory }

// Mark notes something for the loops. Do does not wait for anything.
func (s *State) Mark(do func(*Marks)) {
	s.mem.Lock()
	defer s.mem.Unlock()
	do(&Marks{Memory{s}})
}

// Memo is an adjustment under way.
type Memo struct{ Memory }

// Adjust notes what memory alone knows. It waits for a change that is being committed,
// and must not be called by what decides on one.
func (s *State) Adjust(do func(*Memo)) {
	s.write.Lock()
	defer s.write.Unlock()
	s.mem.Lock()
	defer s.mem.Unlock()
	do(&Memo{Memory{s}})
}
