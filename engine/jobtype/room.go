// Package jobtype asks the job types about a grid job, on behalf of its owner: what they
// may open is what the owner may read.
package jobtype

import (
	"sync"

	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/state"
)

// Types asks the site's job types.
type Types struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas

	mu      sync.Mutex
	running map[int]chan struct{} // the seats of programs, by account
}

// New returns one.
func New(s *state.State, as *areas.Areas) *Types {
	return &Types{b: s.B, s: s, areas: as, running: map[int]chan struct{}{}}
}
