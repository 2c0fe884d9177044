// Package gridjob carries out the steps in the life of a grid job: it is accepted, prepared, cut into local jobs,
// collected, and moved to the history. Package plan decides the next step (plan.Grid). Package feed makes local jobs
// from datasets and merges. The other rooms are called through the interfaces in this file.
package gridjob

import (
	"context"
	"time"

	"jjm/handlers"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/dependency"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/jobtype"
	"jjm/internal/engine/floor/remote"
	"jjm/internal/engine/floor/state"
	"jjm/internal/engine/floor/sweep"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/xmldb"
)

// Clusters chooses among the batch systems; package cluster implements it.
type Clusters interface {
	Choose(*jjm.Spec) (state.Choice, jjm.Problems)
	WaitsFor(mem state.Memory, g *state.Grid, now jjm.Time) string
	NotReached(id jjm.GridID, kinds []string) []string
}

// Datasets checks and fills the datasets of job files; package dataset implements it.
type Datasets interface {
	CheckDatasets(ctx context.Context, owner jjm.Owner, spec *jjm.Spec, h handlers.Handler, site handlers.Site,
		clusters []string) jjm.Problems
	CheckMerge(spec *jjm.Spec, clusters []string) jjm.Problems
	DryRun(ctx context.Context, owner jjm.Owner, h handlers.Handler, spec *jjm.Spec, site handlers.Site,
		fit state.Choice) (wire.Submitted, error)
	FillDatasets(ctx context.Context, job *jjm.GridJob, h handlers.Handler) error
	KickSources(*jjm.GridJob)
}

// Feeder makes local jobs from datasets and merges; package feed implements it.
type Feeder interface {
	Feed(ctx context.Context, job *jjm.GridJob, cut *state.Cutting) error
	FeedMerge(ctx context.Context, job *jjm.GridJob) error
	Withdraw(ctx context.Context, id jjm.GridID) error
	LookAgain(jjm.GridID) time.Duration
	MakeOutput(c *state.Change, job *jjm.GridJob, clusters int) error
}

// Prover verifies that the work was done exactly once; package proof implements it.
type Prover interface {
	CheckDone(ctx context.Context, job *jjm.GridJob, facts *plan.GridFacts) error
	CheckRecovers(ctx context.Context, owner jjm.Owner, spec *jjm.Spec) jjm.Problems
	StillRecovers(c *state.Change, spec *jjm.Spec) error
	Excerpt(ctx context.Context, job *jjm.GridJob, id jjm.LocalID) (jjm.Spec, error)
}

// Records publishes XML records; package record implements it.
type Records interface {
	PublishNow(context.Context, jjm.GridID)
	Behind(jjm.GridID) bool
	Head(state.Memory, *state.Grid) xmldb.Head
	FillHead(context.Context, *xmldb.Head) error
}

// Reopener submits local jobs again; package reopen implements it.
type Reopener interface {
	// RunAgain resubmits failed local jobs of a grid job automatically.
	RunAgain(context.Context, jjm.GridID) error
	// SubmitKept submits the refused local jobs of a kept grid job again, as a part of change c.
	SubmitKept(c *state.Change, id jjm.GridID, actor string) error
}

// Rooms holds the other rooms (sub-packages of package engine) that Jobs needs.
type Rooms struct {
	Clusters Clusters
	Datasets Datasets
	Feeder   Feeder
	Prover   Prover
	Records  Records
}

// Settle carries out the requests about a handle that gatekeepers left in the spool.
type Settle func(context.Context, wire.Caller, jjm.Handle) error

// Report makes the HTML report of a live grid job. job is the row of the grid job that the report shows. Package answer
// implements Report.
type Report func(ctx context.Context, job *jjm.GridJob) ([]byte, error)

// Jobs accepts grid jobs and steps each grid job, one step at a time. Its methods may be called from many goroutines.
type Jobs struct {
	b       *base.Base
	s       *state.State
	areas   *areas.Areas
	types   *jobtype.Types
	sweeper *sweep.Sweeper
	remote  *remote.Inputs
	after   *dependency.Dependencies
	rooms   Rooms
	settle  Settle
	report  Report
	again   Reopener
	work    *fair.Keyed[jjm.GridID] // steps grid jobs, fairly between accounts
	ids     ids
}

// StepPatience is how long a step of a grid job, or a read of a source, keeps its place among the workers (see
// fair.Keyed).
const StepPatience = 2 * time.Second

// New returns a Jobs. No grid job is stepped until Run is called.
func New(s *state.State, as *areas.Areas, types *jobtype.Types, sw *sweep.Sweeper, inputs *remote.Inputs,
	after *dependency.Dependencies) *Jobs {
	js := &Jobs{b: s.B, s: s, areas: as, types: types, sweeper: sw, remote: inputs, after: after,
		ids: ids{b: s.B, areas: as, of: map[int]*strange{}}}
	js.work = fair.NewKeyed(s.B.Conf().Workers, StepPatience, s.Accounts.Of, js.stepGrid)
	return js
}

// Connect sets the other rooms. It must be called once, before any other method.
func (js *Jobs) Connect(rooms Rooms, settle Settle, report Report, again Reopener) {
	js.rooms, js.settle, js.report, js.again = rooms, settle, report, again
}

// Wake requests that a grid job is stepped soon, and returns immediately.
func (js *Jobs) Wake(id jjm.GridID) { js.work.Kick(id) }

// Run steps grid jobs until ctx ends.
func (js *Jobs) Run(ctx context.Context) { js.work.Run(ctx) }

// Verbs returns the verbs that Jobs carries out.
func Verbs(js *Jobs) []serve.Verb {
	return []serve.Verb{
		serve.Handle(wire.VerbSubmit(), serve.Anyone, js.Submit),
		serve.Handle(wire.VerbCopy(), serve.Owners, js.Copy),
		serve.Handle(wire.VerbRenew(), serve.Owners, js.Renew),
	}
}
