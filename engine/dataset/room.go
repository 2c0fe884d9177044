// Package dataset keeps the datasets of accounts: files that people add and mark, and
// those that come from watched folders, programs and containers.
package dataset

import (
	"context"
	"time"

	"jjm"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/fair"
	"jjm/engine/jobtype"
	"jjm/engine/lineage"
	"jjm/engine/state"
)

// Datasets does so.
type Datasets struct {
	b       *base.Base
	s       *state.State
	outside outside
	types   *jobtype.Types
	lineage *lineage.Lineage
	sources *fair.Keyed[Source]
	marks   marker
	compare *comparer
}

// New returns one that looks at so many sources at once, each of which keeps its place
// for so long.
func New(s *state.State, as *areas.Areas, types *jobtype.Types, ln *lineage.Lineage, width int,
	patience time.Duration) *Datasets {
	ds := &Datasets{b: s.B, s: s, outside: outside{s.B, as}, types: types, lineage: ln, marks: marker{s.B, s}}
	ds.compare = &comparer{s.B, ds.marks, newSights()}
	ds.sources = fair.NewKeyed(width, patience, func(src Source) int { return s.Accounts.Of(src.Grid) }, ds.LookAt)
	return ds
}

// Run looks at sources until ctx ends.
func (ds *Datasets) Run(ctx context.Context) { ds.sources.Run(ctx) }

// Begin lets the grid jobs that a change prepared read their datasets.
func (ds *Datasets) Begin(c *state.Change) error {
	for id, g := range c.Grids {
		if !ds.prepares(c.Live, id, g) {
			continue
		}
		if err := ds.openInputs(c, g); err != nil {
			return err
		}
	}
	return nil
}

// prepares reports whether a change prepares a grid job.
func (ds *Datasets) prepares(mem state.Memory, id jjm.GridID, g *jjm.GridJob) bool {
	live := mem.Grid(id)
	return live != nil && !live.Job.Step.Prepared && g.Step.Prepared
}
