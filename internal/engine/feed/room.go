// Package feed makes local jobs from the files of datasets, from outputs to be merged, and from work that local jobs
// gave back. When local jobs that read files end, it also stores states of files, ledger entries and output datasets.
// Splitters decide how files are cut, and plan.GiveBack decides which work is done again.
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
	// Recoverable returns an error of kind Conflict if no recovery of a grid job can be made now.
	Recoverable(ctx context.Context, job *jjm.GridJob) error
	// Redo returns the job file of a recovery that does the work of the given local jobs of a grid
	// job again.
	Redo(ctx context.Context, caller wire.Caller, job *jjm.GridJob, locals []int32, recovery string) (cover.Written,
		error)
}

// Feeder makes local jobs, and is a participant of every change (see internal/engine/participants.go).
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
