// Package request stores requests of people and gatekeepers about grid jobs and local jobs: to kill or hold jobs, to
// release holds, to force states, to freeze local jobs, and to add remarks. It only stores a request; the loops of
// packages gridjob, cluster and verdict carry it out.
package request

import (
	"context"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Requests stores kills, holds, releases, forced states, freezes and remarks.
type Requests struct {
	b *base.Base
	s *state.State
	// halt prevents the start of the local jobs of a grid job that are to be killed, on clusters where a cancel is
	// final.
	halt func(context.Context, jjm.GridID)
	// leave returns a function that cancels the batch job of a local job once, even if the local job and its bulk have
	// ended by then.
	leave func(*state.Bulk, *jjm.LocalJob) func()
}

// New returns a Requests. halt is called after a kill is stored and before it is answered: it keeps local jobs that are
// to be killed from starting, on clusters where a cancel is final. leave returns a function that cancels the batch job
// of a local job, which is called once the attempt is over for jjm.
func New(s *state.State, halt func(context.Context, jjm.GridID),
	leave func(*state.Bulk, *jjm.LocalJob) func()) *Requests {
	return &Requests{s.B, s, halt, leave}
}

// Verbs returns the verbs that Requests carries out.
func Verbs(ws *Requests) []serve.Verb {
	return []serve.Verb{
		serve.Handle(wire.VerbKill(), serve.Owners, ws.Kill),
		serve.Handle(wire.VerbHold(), serve.Owners, ws.Hold),
		serve.Handle(wire.VerbRelease(), serve.Owners, ws.Release),
		serve.Handle(wire.VerbForceStatus(), serve.Owners, ws.ForceStatus),
		serve.Handle(wire.VerbFreeze(), serve.Owners, ws.Freeze),
		serve.Handle(wire.VerbUnfreeze(), serve.Owners, ws.Unfreeze),
		serve.Handle(wire.VerbRemark(), serve.Administrators, ws.Remark),
	}
}
