package state

import (
	"jjm"
)

// UnusedBulk is a bulk that is over and that no live local job was last in.
type UnusedBulk struct {
	Owner jjm.Owner
	Tag   jjm.Tag
}

// Unuse has the folder of a bulk removed. The memory lock is held.
func (s *State) Unuse(owner jjm.Owner, tag jjm.Tag) {
	s.Unused[owner.UID] = append(s.Unused[owner.UID], UnusedBulk{owner, tag})
}
