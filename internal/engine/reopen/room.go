// Package reopen reopens ended grid jobs: it stores people's requests, moves the rows back from the
// history, and begins the next generations. A request is checked when it is stored, and again in the
// transaction that carries it out. docs/GENERATIONS.md says what a reopened grid job keeps.
package reopen

import (
	"context"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// Feeder finds out which local jobs can do their work again, returns the work to these local jobs, and retracts
// outputs; package feed implements it.
type Feeder interface {
	Unfit(ctx context.Context, job *jjm.GridJob, locals []int32) (map[int32]string, error)
	Resume(c *state.Change, id jjm.GridID, locals []int32) error
	Retract(ctx context.Context, caller wire.Caller, id jjm.GridID, w wire.Retract) (wire.Retracted, error)
	Lost(ctx context.Context, job *jjm.GridJob, w wire.Retract) (wire.Retracted, []int32, error)
	MakeAgain(c *state.Change, id jjm.GridID, actor string, w wire.Retract) (same []int32, err error)
}

// Divider cuts the work of failed local jobs again; package feed implements it.
type Divider interface {
	Divided(ctx context.Context, job *jjm.GridJob, params split.Params, locals []jjm.LocalJob, want split.Finer) (
		split.Division, error)
	MayDivide(ctx context.Context, job *jjm.GridJob, more int) error
	Divide(c *state.Change, id jjm.GridID, d split.Division, actor string) error
}

// Prover finds the local jobs whose work recoveries did; package proof implements it.
type Prover interface {
	Elsewhere(ctx context.Context, job *jjm.GridJob) (map[int32]string, error)
}

// Clusters finds the clusters that can meet the request of a grid job; package cluster implements it.
type Clusters interface {
	Choose(spec *jjm.Spec) (state.Choice, jjm.Problems)
}

// Types asks job types how grid jobs are cut, and finds the inputs that changed since they were packed; package jobtype
// implements it.
type Types interface {
	Ask(job *jjm.GridJob) (*state.Cutting, error)
	Changed(job *jjm.GridJob) (changed []string, not []wire.Uncompared)
}

// Rooms holds the other rooms (sub-packages of package engine) that Reopener needs.
type Rooms struct {
	Feeder   Feeder
	Divider  Divider
	Prover   Prover
	Clusters Clusters
	Types    Types
}

// Reopener stores requests to reopen grid jobs and carries out the stored requests. Its methods may be called from many
// goroutines.
type Reopener struct {
	b     *base.Base
	s     *state.State
	rooms Rooms
	kick  chan struct{}
}

// New returns a Reopener. No request is carried out until Loop is called.
func New(s *state.State, rooms Rooms) *Reopener {
	return &Reopener{b: s.B, s: s, rooms: rooms, kick: make(chan struct{}, 1)}
}

// Wake makes the loop look at the requests soon, and returns immediately.
func (ro *Reopener) Wake() { fair.Kick(ro.kick) }

// Verbs returns the verbs that Reopener carries out.
func Verbs(ro *Reopener) []serve.Verb {
	return []serve.Verb{
		serve.Handle(wire.VerbResubmit(), serve.Owners, ro.Resubmit),
		serve.Handle(wire.VerbResplit(), serve.Owners, ro.Resplit),
		serve.Handle(wire.VerbSet(), serve.Owners, ro.Set),
		serve.Handle(wire.VerbRetract(), serve.Owners, ro.Retract),
	}
}
