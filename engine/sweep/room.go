// Package sweep removes the folders of bulks that nothing points to any more.
package sweep

import (
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/state"
)

// Sweeper does so, account by account.
type Sweeper struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas
}

// New returns one.
func New(s *state.State, as *areas.Areas) *Sweeper { return &Sweeper{s.B, s, as} }
