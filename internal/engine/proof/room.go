// Package proof proves or refutes that the work of a grid job, together with its recoveries, was done exactly once. A
// recovery is a grid job that does the work that another grid job left undone. The package reads the work, the cover
// ledger (which local job owns which work) and the ends of local jobs from the store, and package cover compares these.
// It changes nothing.
package proof

import (
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/jobtype"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/state"
)

// Prover verifies grid jobs and makes job files of recoveries. It also replays grid jobs: it compares the present
// answers of their job types with the answers stored at preparation.
type Prover struct {
	b       *base.Base
	s       *state.State
	types   *jobtype.Types
	lineage *lineage.Lineage
}

// New returns a Prover.
func New(s *state.State, types *jobtype.Types, ln *lineage.Lineage) *Prover {
	return &Prover{s.B, s, types, ln}
}

// Verbs returns the verbs that Prover carries out.
func Verbs(pr *Prover) []serve.Verb {
	return []serve.Verb{
		serve.Handle(wire.VerbVerify(), serve.Owners, pr.Verify),
		serve.Handle(wire.VerbReplay(), serve.Owners, pr.Replay),
	}
}
