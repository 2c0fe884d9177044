// Package sweep removes the folders of bulks to which no row in memory points any longer.
// Package state keeps the list of these bulks.
package sweep

import (
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
)

// Sweeper removes folders separately for each account, when the harvest of the account calls it, because a work area
// may hang.
type Sweeper struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas
}

// New returns a Sweeper.
func New(s *state.State, as *areas.Areas) *Sweeper { return &Sweeper{s.B, s, as} }
