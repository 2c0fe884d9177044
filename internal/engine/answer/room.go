// Package answer answers the requests of people and gatekeepers for the status of a grid job and for its details,
// records, outputs and history. It changes only records: it publishes a record before the record is read.
package answer

import (
	"context"
	"iter"
	"sync/atomic"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/choice"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/sandbox"
)

// Jobs returns the contents of an output tar; package gridjob implements it.
type Jobs interface {
	LogLines(context.Context, jjm.GridID) ([]string, error)
	TarEntries(ctx context.Context, job *jjm.GridJob, facts *plan.GridFacts, counted func()) iter.Seq2[sandbox.TarEntry,
		error]
	// CollectedOf returns a local job and its entries in the tar.
	CollectedOf(ctx context.Context, job *jjm.GridJob, n int32) (jjm.LocalJob, []sandbox.TarEntry, error)
}

// Records publishes records and computes the status that is shown to people and
// gatekeepers; package record implements it.
type Records interface {
	Outside(state.Memory, *state.Grid) state.Outside
	InputsOf(context.Context, *jjm.GridJob) ([]wire.Input, error)
	PublishNow(context.Context, jjm.GridID)
}

// Clusters describes the batch systems; package cluster implements it.
type Clusters interface {
	TroubleOf(state.Memory, *state.Grid) []string
	ShowWaits(mem state.Memory, g *state.Grid, rows []jjm.LocalJob, now jjm.Time)
	// Full returns, for people, the limits that prevent the submission of ready local jobs.
	Full(mem state.Memory, g *state.Grid, now jjm.Time) string
	View(mem state.Memory, name string, of func(jjm.GridID) bool, may func(uid int) bool) wire.Cluster
}

// Rooms holds the parts of other rooms (sub-packages of package engine) that Answers needs.
type Rooms struct {
	Jobs     Jobs
	Records  Records
	Clusters Clusters
	// Settle carries out the requests about a handle that gatekeepers left in the spool.
	Settle func(context.Context, wire.Caller, jjm.Handle) error
	// Told is called when the end of a grid job is reported to a gatekeeper. It must not block.
	Told func(jjm.GridID)
}

// Answers answers requests of people and gatekeepers. Its methods may be called from many goroutines. Each method
// checks whether the caller may see the jobs.
type Answers struct {
	b        *base.Base
	s        *state.State
	areas    *areas.Areas
	lineage  *lineage.Lineage
	choice   *choice.Chooser
	rooms    Rooms
	partials atomic.Uint64 // numbers the names of partial tars
	sources  []source      // the places of files of local jobs, in the order of the search
}

// New returns an Answers.
func New(s *state.State, as *areas.Areas, ln *lineage.Lineage, rooms Rooms) *Answers {
	return &Answers{choice: choice.New(s), b: s.B, s: s, areas: as, lineage: ln, rooms: rooms,
		sources: []source{workFolder{as}}}
}

// verbs adds to Answers some methods that carry out verbs, which Verbs registers.
type verbs struct{ *Answers }

// Verbs returns the verbs that Answers and Reasons carry out.
func Verbs(an *Answers, rs *Reasons) []serve.Verb {
	vs := verbs{an}
	return []serve.Verb{
		serve.Handle(wire.VerbLookup(), serve.Owners, an.Lookup),
		serve.Handle(wire.VerbStatus(), serve.Owners, vs.Status),
		serve.Handle(wire.VerbList(), serve.Owners, vs.List),
		serve.HandleStream(wire.VerbWait(), serve.Owners, an.Wait),
		serve.Handle(wire.VerbRecord(), serve.Owners, an.Record),
		serve.HandleStream(wire.VerbRecords(), serve.Owners, vs.Records),
		serve.HandleStream(wire.VerbOutput(), serve.Owners, vs.Output).Finishing(),
		serve.HandleStream(wire.VerbCat(), serve.Owners, vs.Cat),
		serve.Handle(wire.VerbHistory(), serve.Owners, vs.History),
		serve.Handle(wire.VerbExplain(), serve.Owners, an.Explain),
		serve.Handle(wire.VerbLog(), serve.Owners, an.Log),
		serve.Handle(wire.VerbWhy(), serve.Owners, rs.Why),
		serve.Handle(wire.VerbFind(), serve.Owners, finder{an}.Find),
		serve.Handle(wire.VerbJobTypes(), serve.Anyone, vs.JobTypes),
	}
}
