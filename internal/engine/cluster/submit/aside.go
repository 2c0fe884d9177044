package submit

import (
	"sync"
	"time"

	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
)

// asideFor is how long an owner is set aside. It is also how long jjm waits before it repeats a failed step.
const asideFor = 5 * time.Second

// aside contains the owners whose last submission failed for a reason of their own, such as an error in their work
// area. Until the deadline, such an owner gets no new bulk. Its methods may be called from many goroutines.
type aside struct {
	b *base.Base

	mu    sync.Mutex
	until map[jjm.Owner]system.Deadline
}

// set sets an owner aside for the time asideFor.
func (as *aside) set(owner jjm.Owner) {
	as.mu.Lock()
	defer as.mu.Unlock()
	as.until[owner] = system.Deadline{Set: as.b.Now(), Wait: asideFor}
}

// left returns how long an owner is still set aside, 0 if the owner is not.
func (as *aside) left(owner jjm.Owner) time.Duration {
	as.mu.Lock()
	defer as.mu.Unlock()
	left := as.until[owner].Left(as.b.Now())
	if left == 0 {
		delete(as.until, owner)
	}
	return left
}
