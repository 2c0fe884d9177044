// Package answer tells what is: the one honest status of a grid job, its detail, records,
// outputs and history.
package answer

import (
	"context"
	"iter"
	"sync/atomic"

	"jjm"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/state"
	"jjm/plan"
	"jjm/sandbox"
	"jjm/wire"
)

// Jobs give what goes into a tar.
type Jobs interface {
	LogLines(context.Context, jjm.GridID) ([]string, error)
	TarEntries(ctx context.Context, job *jjm.GridJob, facts *plan.GridFacts, counted func()) iter.Seq2[sandbox.TarEntry,
		error]
}

// Records are what people read.
type Records interface {
	Outside(state.Memory, *state.Grid) state.Outside
	InputsOf(context.Context, *jjm.GridJob) ([]wire.Input, error)
	PublishNow(context.Context, jjm.GridID)
}

// Clusters are the batch systems.
type Clusters interface {
	TroubleOf(state.Memory, *state.Grid) []string
	View(mem state.Memory, name string) wire.Cluster
}

// Rooms are those that know what is asked.
type Rooms struct {
	Jobs     Jobs
	Records  Records
	Clusters Clusters
	// Settle takes in what gatekeepers left about a handle.
	Settle func(context.Context, wire.Caller, jjm.Handle) error
}

// Answers does so.
type Answers struct {
	b        *base.Base
	s        *state.State
	areas    *areas.Areas
	rooms    Rooms
	partials atomic.Uint64 // tars made of unfinished grid jobs, for their names
}

// New returns one.
func New(s *state.State, as *areas.Areas, rooms Rooms) *Answers {
	return &Answers{b: s.B, s: s, areas: as, rooms: rooms}
}
