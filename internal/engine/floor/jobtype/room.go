// Package jobtype asks job types about grid jobs on behalf of their owners: a type may
// open only files that the owner may read, and its program runs as the owner.
package jobtype

import (
	"sync"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
)

// Types asks the site's job types how grid jobs are cut, and runs their programs. Its methods may be called from many
// goroutines.
type Types struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas

	mu      sync.Mutex
	running map[int]chan struct{} // for each account, a channel with room for programsAtOnce
}

// New returns a Types.
func New(s *state.State, as *areas.Areas) *Types {
	return &Types{b: s.B, s: s, areas: as, running: map[int]chan struct{}{}}
}
