// Package record publishes the XML records of grid jobs. A record consists of a head about the grid job and of shards,
// each about a range of local jobs. Package record writes the heads and shards that have changed, within a share of the
// time. Package xmldb defines the format of the records.
package record

import (
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Waits returns the reasons why no cluster accepts the local jobs of a grid job now; see
// cluster.Clusters.Waits.
type Waits func(mem state.Memory, g *state.Grid, now jjm.Time) (why []string, some bool)

// Publisher writes records: Loop writes the records of live grid jobs, and MendLoop writes missing records of ended
// grid jobs. Its methods may be called from many goroutines.
type Publisher struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas
	waits Waits
	mend  chan struct{} // wakes MendLoop
	// unwritten are the records that could not be written.
	unwritten unwritten
}

// New returns a Publisher. The caller runs Loop and MendLoop in goroutines.
func New(s *state.State, as *areas.Areas, waits Waits) *Publisher {
	return &Publisher{b: s.B, s: s, areas: as, waits: waits, mend: make(chan struct{}, 1)}
}
