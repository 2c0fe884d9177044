// Package verdict takes what local jobs leave, and judges attempts whose evidence is
// complete, account by account.
package verdict

import (
	"context"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/endings"
	"jjm/engine/fair"
	"jjm/engine/state"
	"jjm/engine/sweep"
	"jjm/xmldb"
)

// Systems are the batch systems that have the attempts.
type Systems interface {
	// Settle is how long a result of a bulk waits for the batch system's last word;
	// false if the bulk is not open any more.
	Settle(jjm.Tag) (time.Duration, bool)
	// Carries reports whether the workers of a bulk do not see the work area.
	Carries(jjm.Tag) bool
	// RefOf names the batch job of an attempt; false while its id is not known.
	RefOf(*jjm.LocalJob) (adapters.Ref, jjm.Owner, bool)
	// AskCancel has the batch job of an attempt cancelled, CancelDuplicate another one.
	AskCancel(*jjm.LocalJob)
	CancelDuplicate(*jjm.LocalJob, jjm.Owner, adapters.Ref)
}

// Judge does so.
type Judge struct {
	b        *base.Base
	s        *state.State
	areas    *areas.Areas
	ends     *endings.Endings
	sweeper  *sweep.Sweeper
	systems  Systems
	harvests *fair.Keyed[int]
	told     agenda
	phases   phaseBook
	types    types
}

// New returns one. It starts nothing: Run does. Record takes a fragment of a record.
func New(s *state.State, as *areas.Areas, ends *endings.Endings, sw *sweep.Sweeper, systems Systems,
	record func(context.Context, xmldb.Fragment) error) *Judge {
	ju := &Judge{b: s.B, s: s, areas: as, ends: ends, sweeper: sw, systems: systems,
		phases: newPhaseBook(record), types: types{s: s, known: s.B.Deps.Types}}
	ju.harvests = fair.ByAccount(harvestsAtOnce, harvestPatience, ju.harvestOf)
	return ju
}

// Loops are what is to be run until the end.
func (ju *Judge) Loops() []func(context.Context) {
	return []func(context.Context){ju.harvestLoop, ju.harvests.Run}
}

// WakeEndings has the attempts looked at that a change wishes ended.
func (ju *Judge) WakeEndings(c *state.Change) {
	for _, id := range c.Kills {
		ju.ends.Kill(id)
	}
	if len(c.Kills) > 0 {
		ju.ends.Wake()
	}
}

// ResumeKills takes up the kills whose local jobs are not over yet, and the
// attempts that were given up for a hold: no report need ever come of an attempt
// that goes on.
func (ju *Judge) ResumeKills() {
	v := ju.s.View()
	defer v.Close()
	for _, g := range v.Grids() {
		for i := range g.Locals {
			if l := &g.Locals[i]; (l.Kill || l.Holding.GivenUp()) && v.Current(l.AttemptID()) != nil {
				ju.ends.Kill(l.AttemptID())
			}
		}
	}
}
