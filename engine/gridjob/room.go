// Package gridjob brings grid jobs through their lives: accepted, prepared, cut, collected,
// moved to the history.
package gridjob

import (
	"context"
	"time"

	"jjm"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/fair"
	"jjm/engine/jobtype"
	"jjm/engine/state"
	"jjm/engine/sweep"
	"jjm/handlers"
	"jjm/plan"
	"jjm/wire"
	"jjm/xmldb"
)

// Clusters are the batch systems that the local jobs may go to.
type Clusters interface {
	Choose(*jjm.Spec) (state.Choice, jjm.Problems)
	WaitsFor(mem state.Memory, g *state.Grid, now jjm.Time) string
	NotReached(id jjm.GridID, kinds []string) []string
}

// Datasets are what the work is read from.
type Datasets interface {
	CheckDatasets(ctx context.Context, owner jjm.Owner, spec *jjm.Spec, h handlers.Handler, site handlers.Site,
		clusters []string) jjm.Problems
	CheckMerge(spec *jjm.Spec, clusters []string) jjm.Problems
	DryRun(ctx context.Context, owner jjm.Owner, h handlers.Handler, spec *jjm.Spec, site handlers.Site,
		fit state.Choice) (wire.Submitted, error)
	FillDatasets(ctx context.Context, job *jjm.GridJob, h handlers.Handler) error
	KickSources(*jjm.GridJob)
}

// Feeder makes local jobs.
type Feeder interface {
	Feed(ctx context.Context, job *jjm.GridJob, cut *state.Cutting) error
	FeedMerge(ctx context.Context, job *jjm.GridJob) error
	Withdraw(ctx context.Context, id jjm.GridID) error
	LookAgain(jjm.GridID) time.Duration
	MakeOutput(c *state.Change, job *jjm.GridJob, clusters int) error
}

// Prover tells whether the work was done exactly once.
type Prover interface {
	CheckDone(ctx context.Context, job *jjm.GridJob, facts *plan.GridFacts) error
	CheckRecovers(ctx context.Context, owner jjm.Owner, spec *jjm.Spec) jjm.Problems
}

// Records are what people read.
type Records interface {
	PublishNow(context.Context, jjm.GridID)
	Behind(jjm.GridID) bool
	Head(state.Memory, *state.Grid) xmldb.Head
	FillHead(context.Context, *xmldb.Head) error
}

// Rooms are those that a grid job passes through.
type Rooms struct {
	Clusters Clusters
	Datasets Datasets
	Feeder   Feeder
	Prover   Prover
	Records  Records
}

// Settle takes in what gatekeepers left about a handle.
type Settle func(context.Context, wire.Caller, jjm.Handle) error

// Jobs does so.
type Jobs struct {
	b       *base.Base
	s       *state.State
	areas   *areas.Areas
	types   *jobtype.Types
	sweeper *sweep.Sweeper
	rooms   Rooms
	settle  Settle
	work    *fair.Keyed[jjm.GridID]
}

// StepPatience is how long a step of a grid job, or a look at a source, keeps its
// place among the workers.
const StepPatience = 2 * time.Second

// New returns one. It starts nothing: Run does.
func New(s *state.State, as *areas.Areas, types *jobtype.Types, sw *sweep.Sweeper) *Jobs {
	js := &Jobs{b: s.B, s: s, areas: as, types: types, sweeper: sw}
	js.work = fair.NewKeyed(s.B.Conf().Workers, StepPatience, s.Accounts.Of, js.stepGrid)
	return js
}

// Connect sets the rooms. It comes once, before Run.
func (js *Jobs) Connect(rooms Rooms, settle Settle) { js.rooms, js.settle = rooms, settle }

// Wake has a grid job looked at. It does not wait.
func (js *Jobs) Wake(id jjm.GridID) { js.work.Kick(id) }

// Run steps grid jobs until ctx ends.
func (js *Jobs) Run(ctx context.Context) { js.work.Run(ctx) }
