// Package site keeps the conditions for work at this site: the orders and bans of administrators, free disk space, and
// the size of each account's work area. Other rooms read the outcome from package state.
package site

import (
	"context"
	"sync/atomic"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
)

// Shut reports whether a maintenance window prevents the submission of some local job of a grid job now.
type Shut func(mem state.Memory, g *state.Grid, now jjm.Time) bool

// Site runs the loops that end orders, measure disks and count work areas, and stores
// orders and bans.
type Site struct {
	b         *base.Base
	s         *state.State
	areas     *areas.Areas
	windows   windows
	kept      kept // used by spaceLoop
	disks     atomic.Pointer[health.Disks]
	orderKick chan struct{}
	counts    *fair.Keyed[int] // counts work areas, by account
	halt      func(context.Context, jjm.GridID)
	mend      func()
}

// New returns a Site. The caller starts its goroutines; see Loops. halt is called for each grid job that a ban kills:
// it prevents the start of local jobs on clusters where a cancel is final. mend is called when records of the history
// may be lost.
func New(s *state.State, as *areas.Areas, shut Shut, halt func(context.Context, jjm.GridID), mend func()) *Site {
	si := &Site{b: s.B, s: s, areas: as, halt: halt, mend: mend, windows: windows{shut: shut},
		orderKick: make(chan struct{}, 1)}
	si.kept = keep(s.B.Store.Path(), s.B.Deps.Work, s.B.Deps.RecordDir)
	si.counts = fair.ByAccount(usesAtOnce, usePatience, si.countWork)
	return si
}

// Loops returns the loops to run until the engine stops.
func (si *Site) Loops() []func(context.Context) {
	return []func(context.Context){si.ordersLoop, si.spaceLoop, si.useLoop, si.counts.Run}
}

// Verbs returns the verbs that Site carries out.
func Verbs(si *Site) []serve.Verb {
	return []serve.Verb{
		serve.Handle(wire.VerbOrder(), serve.Owners, si.Order),
		serve.Handle(wire.VerbBan(), serve.Administrators, si.Ban),
	}
}
