// Package wish stores what people and gatekeepers ask about grid jobs and local jobs: to
// kill them, to release their holds, and to remark on them. It only stores the wish; the
// loops of packages gridjob, cluster and verdict carry it out.
package wish

import (
	"jjm/engine/base"
	"jjm/engine/state"
)

// Wishes stores kills, releases and remarks.
type Wishes struct {
	b *base.Base
	s *state.State
}

// New returns a Wishes.
func New(s *state.State) *Wishes { return &Wishes{s.B, s} }
