// Package feed makes local jobs of what there is to do, step by step: of the files of
// datasets, of the outputs that are merged, and again of what local jobs gave back.
package feed

import (
	"context"

	"jjm"
	"jjm/cover"
	"jjm/engine/base"
	"jjm/engine/lineage"
	"jjm/engine/state"
	"jjm/wire"
)

// Recoverer makes the job file that does some local jobs' work of a grid job again.
type Recoverer interface {
	Again(ctx context.Context, caller wire.Caller, job *jjm.GridJob, locals []int32, recovery string) (cover.Written,
		error)
}

// Feeder does so.
type Feeder struct {
	b         *base.Base
	s         *state.State
	lineage   *lineage.Lineage
	recoverer Recoverer
	feeds     feeds
}

// New returns one.
func New(s *state.State, ln *lineage.Lineage, r Recoverer) *Feeder {
	return &Feeder{b: s.B, s: s, lineage: ln, recoverer: r}
}
