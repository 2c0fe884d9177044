// Package site keeps what the site allows: orders and bans of administrators, the room on
// the disks, and what may lie in the work area of an account.
package site

import (
	"context"

	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/fair"
	"jjm/engine/state"
)

// Site does so.
type Site struct {
	b         *base.Base
	s         *state.State
	areas     *areas.Areas
	orderKick chan struct{}
	counts    *fair.Keyed[int] // of work areas
}

// New returns one. It starts nothing: the loops do.
func New(s *state.State, as *areas.Areas) *Site {
	si := &Site{b: s.B, s: s, areas: as, orderKick: make(chan struct{}, 1)}
	si.counts = fair.ByAccount(usesAtOnce, usePatience, si.countWork)
	return si
}

// Loops are what is to be run until the end.
func (si *Site) Loops() []func(context.Context) {
	return []func(context.Context){si.ordersLoop, si.spaceLoop, si.useLoop, si.counts.Run}
}
