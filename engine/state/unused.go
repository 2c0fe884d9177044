package state

import (
	"jjm"
)

// UnusedBulk is a bulk that is over and that no live local job was last in.
type UnusedBulk struct {
	Owner jjm.Owner
	Tag   jjm.Tag
}

// unuse has the folder of a bulk removed.
func (s *State) unuse(owner jjm.Owner, tag jjm.Tag) {
	s.unused[owner.UID] = append(s.unused[owner.UID], UnusedBulk{owner, tag})
}
