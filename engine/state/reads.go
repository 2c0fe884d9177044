package state

import (
	"jjm"
	"jjm/handlers"
	"jjm/split"
	"jjm/store"
)

// Reads is how far a grid job is with the datasets that it reads.
type Reads struct {
	// datasets are those of its step, once it is known that it was prepared.
	Datasets []store.DatasetID
	// news counts what came to be known that may let more be cut. It and idle are
	// guarded by the engine's memory lock.
	News uint64
	// marked counts the news by which files may not be cut any more, or again;
	// guarded as news.
	Marked uint64
	// withdrawn is marked when local jobs that wait to be submitted last gave back
	// what they own of marked files, plus 1; 0 = not since the start.
	Withdrawn uint64
	// idle says why nothing can be cut now, "" if it was not found out yet, or
	// something new is known.
	Idle string
	// due is when to look again although nothing is known, where time alone may
	// let more be cut; 0 = not set.
	Due jjm.Time
	// trouble is why files of datasets that come from outside do not come, by
	// their place in the job file.
	Trouble map[int]string
}

// Idle says why nothing can be cut now, "" if something can. The memory lock is
// held.
func (g *Grid) Idle() string {
	if g.Merge != nil && g.Job.Merging != nil && !g.Job.Merging.Closed && !g.CutsWork() {
		return g.Merge.Idle
	}
	if g.Reads == nil {
		return ""
	}
	return g.Reads.Idle
}

// WakeMerge notes that there may be something to merge. The memory lock is held.
func (g *Grid) WakeMerge() {
	if g.Merge != nil {
		g.Merge.News++
		g.Merge.Idle = ""
	}
}

// ReadsFiles reports whether a local job owns files of a dataset.
func (g *Grid) ReadsFiles(l *jjm.LocalJob) bool { return g.Reads != nil || l.Step == jjm.StepMerge }

// Closed reports whether no step of a grid job makes more local jobs.
func (g *Grid) Closed() bool {
	return g.Job.Step.Closed && (g.Merge == nil || g.Job.Merging != nil && g.Job.Merging.Closed)
}

// CutsWork reports whether the first step can be cut now; mergeIdle why the
// second cannot. The memory lock is held.
func (g *Grid) CutsWork() bool {
	return !g.Job.Step.Closed && (g.Reads == nil || g.Reads.Idle == "")
}

// Cutting remembers a handler's decision between the cuts of one grid job.
type Cutting struct {
	handlers.Cutting
	Splitter split.Splitter
}
