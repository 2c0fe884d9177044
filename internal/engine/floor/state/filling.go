package state

import (
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// awaitsFiles is the reason, for people, why a step makes no local jobs while files are being added to one of its
// datasets.
const awaitsFiles = "more files of its datasets are being added"

// Filling notes the beginning of an addition: files that belong together are about to be added to a dataset in several
// transactions. A grid job that read the dataset between two of the transactions would see only some of the files, and
// make a part that is too small. Grid jobs therefore wait (AwaitsFiles) until the caller ends the addition with Filled.
// Several additions to one dataset may be in progress at the same time.
//
// Two counters are kept. State.fills counts, by dataset, the additions in progress. Reads.fills counts, for a grid job,
// all additions to its datasets that began since the daemon's start.
func (a *Memo) Filling(id store.DatasetID) {
	a.s.fills[id]++
	for _, g := range a.s.grids {
		if g.mayRead(id) {
			g.Reads.fills++
		}
	}
}

// Filled notes the end of an addition that began with Filling. If no other addition to the dataset is in progress, it
// makes the grid jobs that waited for the files no longer idle, and returns their ids; the caller wakes these grid
// jobs.
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

// AwaitsFiles reports whether a grid job must not use the files that its first step has just read, because they may be
// only some of the files that belong together. fills is the count that SetInputs returned before the step read the
// files. There are two cases. If an addition to one of the datasets is in progress, AwaitsFiles makes the step idle
// until Filled. If an addition began after the call of SetInputs and has ended since, the caller reads the files again.
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

// mayRead reports whether the first step of a grid job reads a dataset. It also returns true if the step's datasets are
// not known yet, and false if the step reads none.
func (g *Grid) mayRead(id store.DatasetID) bool {
	return g.Reads != nil && (g.Reads.datasets == nil || g.Reads.Knows(id))
}
