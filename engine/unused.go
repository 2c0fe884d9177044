package engine

import (
	"jjm"
)

// unusedBulk is a bulk that is over and that no live local job was last in.
type unusedBulk struct {
	owner jjm.Owner
	tag   jjm.Tag
}

// unuse has the folder of a bulk removed. The memory lock is held.
func (e *Engine) unuse(owner jjm.Owner, tag jjm.Tag) {
	e.unused[owner.UID] = append(e.unused[owner.UID], unusedBulk{owner, tag})
}
