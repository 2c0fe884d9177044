// Package verdict reads the files that wrappers and applications leave in the work areas (results, log files, claims,
// heartbeats, progress). It judges attempts whose evidence is complete, separately for each account. Package plan
// decides what counts as an end and how a local job continues. The package reaches batch systems through Systems.
package verdict

import (
	"context"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/state"
	"jjm/internal/engine/floor/sweep"
	"jjm/internal/jjm"
	"jjm/xmldb"
)

// Systems are the batch systems that have the attempts; package cluster implements it.
type Systems interface {
	// Settle returns how long a result of a bulk waits for the batch system's final
	// report; false if the bulk is closed.
	Settle(jjm.Tag) (time.Duration, bool)
	// Carries reports whether the workers of a bulk do not see the work area.
	Carries(jjm.Tag) bool
	// RefOf returns the batch job of an attempt and the owner of its bulk; false while
	// the batch job's id is not known.
	RefOf(*jjm.LocalJob) (adapters.Ref, jjm.Owner, bool)
	// AskCancel orders the cancel of the batch job of an attempt, CancelDuplicate the cancel
	// of a second batch job of the attempt.
	AskCancel(*jjm.LocalJob)
	CancelDuplicate(*jjm.LocalJob, jjm.Owner, adapters.Ref)
}

// Judge runs the harvests of accounts: each harvest reads the files that the account's jobs
// left, and judges the attempts that are due.
type Judge struct {
	b        *base.Base
	s        *state.State
	areas    *areas.Areas
	ends     *endings.Endings
	sweeper  *sweep.Sweeper
	lineage  *lineage.Lineage
	systems  Systems
	harvests *fair.Keyed[int]
	agenda   agenda
	phases   phaseBook
	types    types
	*delays
}

// New returns a Judge. The caller starts its goroutines; see Loops. record adds a fragment to the record of a local
// job.
func New(s *state.State, as *areas.Areas, ends *endings.Endings, sw *sweep.Sweeper, ln *lineage.Lineage,
	systems Systems,
	record func(context.Context, xmldb.Fragment) error) *Judge {
	ju := &Judge{b: s.B, s: s, areas: as, ends: ends, sweeper: sw, lineage: ln, systems: systems,
		phases: newPhaseBook(record), types: types{s: s, known: s.B.Deps.Types}, delays: &delays{b: s.B, ends: ends}}
	ju.harvests = fair.ByAccount(harvestsAtOnce, harvestPatience, ju.harvestOf)
	return ju
}

// Loops returns the loops to run until the engine stops.
func (ju *Judge) Loops() []func(context.Context) {
	return []func(context.Context){ju.harvestLoop, ju.harvests.Run}
}

// WakeEndings makes attempts due that change c kills, so that the next harvest examines them, and wakes the harvest
// loop.
func (ju *Judge) WakeEndings(c *state.Change) {
	for _, id := range c.Kills {
		ju.ends.Kill(id)
	}
	if len(c.Kills) > 0 {
		ju.ends.Wake()
	}
}

// ResumeKills makes some attempts due after a start: attempts that were being killed, or were given up because of a
// hold, when the daemon stopped. Nothing else would make these attempts due, because a batch system need not report
// anything about a job that continues.
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
