// Package removal removes ended grid jobs: it stores people's orders to remove grid jobs, and carries the orders out
// account by account. docs/REMOVING.md lists the data that is kept and the reasons for refusing an order. The package
// also notes which ends were reported to gatekeepers, because a grid job may be removed before this report only if the
// removal is forced.
package removal

import (
	"context"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
)

// Remover stores removals and carries them out. Its methods may be called from many goroutines.
type Remover struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas
	work  *fair.Keyed[int] // the removals of one account
	told  tellings
}

// New returns a Remover. The caller starts its goroutines; see Loops.
func New(s *state.State, as *areas.Areas) *Remover {
	re := &Remover{b: s.B, s: s, areas: as, told: tellings{kick: make(chan struct{}, 1)}}
	re.work = fair.ByAccount(s.B.Conf().Workers, patience, re.round)
	return re
}

// Loops returns the loops that run until their context ends.
func (re *Remover) Loops() []func(context.Context) {
	return []func(context.Context){re.run, re.noteTellings}
}

// run carries out removals. It begins with the removals that were in progress when the daemon stopped.
func (re *Remover) run(ctx context.Context) {
	v := re.s.View()
	for _, r := range v.Removals() {
		re.work.Kick(r.Owner.UID)
	}
	v.Close()
	re.work.Run(ctx)
}

// Verbs returns the verbs that Remover carries out.
func Verbs(re *Remover) []serve.Verb {
	return []serve.Verb{
		serve.Handle(wire.VerbRemove(), serve.Owners, re.Remove),
	}
}
