// Package wish stores what people wish of local jobs: that they end, or that a hold of
// theirs does. What follows happens by itself.
package wish

import (
	"jjm/engine/base"
	"jjm/engine/state"
)

// Wishes does so.
type Wishes struct {
	b *base.Base
	s *state.State
}

// New returns one.
func New(s *state.State) *Wishes { return &Wishes{s.B, s} }
