package state

import (
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// awaitsFiles is the text, for people, of a step that cuts nothing while files are being added to one of its datasets.
const awaitsFiles = "more files of its datasets are being added"

// Filling notes that files are about to be added to a dataset in several transactions. A grid job that read the dataset
// between two transactions would cut the files that are there, and make a part that is too small. Filled must follow.
func (a *Memo) Filling(id store.DatasetID) {
	a.s.fills[id]++
	for _, g := range a.s.grids {
		if g.mayRead(id) {
			g.Reads.fills++
		}
	}
}

// Filled notes that all files are there, and returns the grid jobs that waited for them and now are no longer idle.
func (a *Memo) Filled(id store.DatasetID) (waited []jjm.GridID) {
	if a.s.fills[id]--; a.s.fills[id] > 0 {
		return nil
	}
	delete(a.s.fills, id)
	for gid, g := range a.s.grids {
		if g.mayRead(id) && g.Reads.filling {
			g.Reads.news++
			g.Reads.setIdle("", false)
			waited = append(waited, gid)
		}
	}
	return waited
}

// AwaitsFiles reports whether the first step of a grid job has to wait, because files are being added to its datasets,
// or were added since the step read the count fills. In the first case the step is idle until Filled; in the second it
// starts again.
func (a *Memo) AwaitsFiles(id jjm.GridID, fills uint64) bool {
	g := a.Grid(id)
	if g == nil || g.Reads == nil {
		return false
	}
	r := g.Reads
	if slices.ContainsFunc(r.datasets, func(d store.DatasetID) bool { return a.s.fills[d] > 0 }) {
		r.setIdle(awaitsFiles, true)
		g.touch()
		return true
	}
	return r.fills != fills
}

// mayRead reports whether the first step of a grid job reads a dataset, or its datasets are not known yet.
func (g *Grid) mayRead(id store.DatasetID) bool {
	return g.Reads != nil && (g.Reads.datasets == nil || g.Reads.Knows(id))
}
