// Package removal removes grid jobs that are over: it stores the orders of people to do so, and
// carries them out account by account. What is kept, and what an order is refused for, is in
// docs/REMOVING.md. It also notes which ends gatekeepers were told, because an order has to wait
// for that.
package removal

import (
	"context"

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

// New returns a Remover. It starts no goroutine; Loops do.
func New(s *state.State, as *areas.Areas) *Remover {
	re := &Remover{b: s.B, s: s, areas: as, told: tellings{kick: make(chan struct{}, 1)}}
	re.work = fair.ByAccount(s.B.Conf().Workers, patience, re.round)
	return re
}

// Loops returns the loops that run until their context ends.
func (re *Remover) Loops() []func(context.Context) {
	return []func(context.Context){re.run, re.noteTellings}
}

// run carries out removals, those first that were under way when the daemon stopped.
func (re *Remover) run(ctx context.Context) {
	v := re.s.View()
	for _, r := range v.Removals() {
		re.work.Kick(r.Owner.UID)
	}
	v.Close()
	re.work.Run(ctx)
}
