package engine

import (
	"jjm"
	"jjm/handlers"
	"jjm/split"
	"jjm/store"
)

// reads is how far a grid job is with the datasets that it reads.
type reads struct {
	// datasets are those of its step, once it is known that it was prepared.
	datasets []store.DatasetID
	// news counts what came to be known that may let more be cut. It and idle are
	// guarded by the engine's memory lock.
	news uint64
	// marked counts the news by which files may not be cut any more, or again;
	// guarded as news.
	marked uint64
	// withdrawn is marked when local jobs that wait to be submitted last gave back
	// what they own of marked files, plus 1; 0 = not since the start.
	withdrawn uint64
	// idle says why nothing can be cut now, "" if it was not found out yet, or
	// something new is known.
	idle string
	// due is when to look again although nothing is known, where time alone may
	// let more be cut; 0 = not set.
	due jjm.Time
	// trouble is why files of datasets that come from outside do not come, by
	// their place in the job file.
	trouble map[int]string
}

// idle says why nothing can be cut now, "" if something can. The memory lock is
// held.
func (g *grid) idle() string {
	if g.merge != nil && g.job.Merging != nil && !g.job.Merging.Closed && !g.cutsWork() {
		return g.merge.idle
	}
	if g.reads == nil {
		return ""
	}
	return g.reads.idle
}

// wakeMerge notes that there may be something to merge. The memory lock is held.
func (g *grid) wakeMerge() {
	if g.merge != nil {
		g.merge.news++
		g.merge.idle = ""
	}
}

// readsFiles reports whether a local job owns files of a dataset.
func (g *grid) readsFiles(l *jjm.LocalJob) bool { return g.reads != nil || l.Step == jjm.StepMerge }

// closed reports whether no step of a grid job makes more local jobs.
func (g *grid) closed() bool {
	return g.job.Step.Closed && (g.merge == nil || g.job.Merging != nil && g.job.Merging.Closed)
}

// cutsWork reports whether the first step can be cut now; mergeIdle why the
// second cannot. The memory lock is held.
func (g *grid) cutsWork() bool {
	return !g.job.Step.Closed && (g.reads == nil || g.reads.idle == "")
}

// cutting remembers a handler's decision between the cuts of one grid job.
type cutting struct {
	handlers.Cutting
	splitter split.Splitter
}
