// Package feed makes local jobs: of the files of datasets, of the outputs to be merged, and of
// work that local jobs gave back. It also stores the consequences of the ends of local jobs that
// read files: states of files, ledger entries, output datasets. Splitters decide how files are
// cut, plan.GiveBack decides which work is done again.
package feed

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/work/cover"
)

// Recoverer makes job files of recoveries; package proof implements it.
type Recoverer interface {
	// Redo returns the job file of a recovery that does the work of the given local jobs of a grid
	// job again.
	Redo(ctx context.Context, caller wire.Caller, job *jjm.GridJob, locals []int32, recovery string) (cover.Written,
		error)
}

// Feeder makes local jobs, and takes part in every change (see internal/engine/participants.go).
type Feeder struct {
	b         *base.Base
	s         *state.State
	lineage   *lineage.Lineage
	recoverer Recoverer
	feeds     feeds
}

// New returns a Feeder.
func New(s *state.State, ln *lineage.Lineage, r Recoverer) *Feeder {
	return &Feeder{b: s.B, s: s, lineage: ln, recoverer: r}
}
