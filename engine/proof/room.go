// Package proof tells whether the work of a grid job, and of its recoveries, was done
// exactly once.
package proof

import (
	"jjm/engine/base"
	"jjm/engine/jobtype"
	"jjm/engine/lineage"
	"jjm/engine/state"
)

// Prover does so.
type Prover struct {
	b       *base.Base
	s       *state.State
	types   *jobtype.Types
	lineage *lineage.Lineage
}

// New returns one.
func New(s *state.State, types *jobtype.Types, ln *lineage.Lineage) *Prover {
	return &Prover{s.B, s, types, ln}
}
