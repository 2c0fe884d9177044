package state

import (
	"jjm/internal/jjm"
)

// UnusedBulk is a closed bulk whose folder in the owner's work area no live grid job needs.
type UnusedBulk struct {
	Owner jjm.Owner
	Tag   jjm.Tag
}

// markUnused adds a bulk to the bulks whose folders are to be removed.
func (s *State) markUnused(owner jjm.Owner, tag jjm.Tag) {
	s.unused[owner.UID] = append(s.unused[owner.UID], UnusedBulk{owner, tag})
}
