// Package sweep removes the folders of bulks that no row in memory points to any more.
// Package state tells which these are.
package sweep

import (
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
)

// Sweeper removes folders account by account, when the harvest of an account calls it: a
// work area may hang.
type Sweeper struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas
}

// New returns a Sweeper.
func New(s *state.State, as *areas.Areas) *Sweeper { return &Sweeper{s.B, s, as} }
