// Package dataset keeps the datasets of accounts: files that people add and mark, and files
// from watched folders, programs and containers, which it reads repeatedly. Package feed decides
// which local jobs are made of the files.
package dataset

import (
	"context"
	"sync"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/jobtype"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Datasets changes datasets and reads sources. Its methods may be called from many
// goroutines.
type Datasets struct {
	b       *base.Base
	s       *state.State
	outside outside // runs commands as owners
	types   *jobtype.Types
	lineage *lineage.Lineage
	sources *fair.Keyed[Source] // reads sources, fairly between accounts
	*filler
	marks   marker
	compare *comparer
	cleared *fair.Keyed[int] // deletes the rows of removed datasets, by account
}

// New returns a Datasets that reads at most width sources at the same time. The read of a source keeps its place among
// these for the duration patience (see fair.Keyed). Nothing is read until Run is called.
func New(s *state.State, as *areas.Areas, types *jobtype.Types, ln *lineage.Lineage, width int,
	patience time.Duration) *Datasets {
	ds := &Datasets{b: s.B, s: s, outside: outside{s.B, as}, types: types, lineage: ln, marks: marker{s.B, s},
		filler: &filler{s: s}}
	ds.compare = &comparer{s.B, ds.marks, newSights()}
	ds.cleared = fair.ByAccount(width, patience, ds.clear)
	ds.sources = fair.NewKeyed(width, patience, func(src Source) int { return s.Accounts.Of(src.Grid) }, ds.LookAt)
	return ds
}

// Run reads sources, and clears removed datasets, until ctx ends.
func (ds *Datasets) Run(ctx context.Context) {
	var clearing sync.WaitGroup
	clearing.Go(func() { ds.clearAll(ctx) })
	ds.sources.Run(ctx)
	clearing.Wait()
}

// Begin opens the datasets of the grid jobs that a change prepared.
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

// prepares reports whether a change makes a grid job prepared.
func (ds *Datasets) prepares(mem state.Memory, id jjm.GridID, g *jjm.GridJob) bool {
	live := mem.Grid(id)
	return live != nil && !live.Job.Step.Prepared && g.Step.Prepared
}

// Verbs returns the verbs that Datasets carries out.
func Verbs(ds *Datasets) []serve.Verb {
	return []serve.Verb{
		serve.Handle(wire.VerbDataset(), serve.Owners, ds.Dataset),
	}
}
