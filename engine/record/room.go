// Package record writes the XML records of grid jobs, as far as they are behind what is
// true.
package record

import (
	"jjm"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/state"
)

// Waits says of each place of a grid job why no cluster takes its local jobs now; some is
// true if a cluster takes those of another.
type Waits func(mem state.Memory, g *state.Grid, now jjm.Time) (why []string, some bool)

// Publisher does so.
type Publisher struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas
	waits Waits
}

// New returns one. It starts nothing: Loop does.
func New(s *state.State, as *areas.Areas, waits Waits) *Publisher {
	return &Publisher{s.B, s, as, waits}
}
