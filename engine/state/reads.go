package state

import (
	"maps"
	"slices"

	"jjm"
	"jjm/handlers"
	"jjm/split"
	"jjm/store"
)

// Reads is how far a grid job is with the datasets that it reads.
type Reads struct {
	// datasets are those of its step, once it is known that it was prepared.
	datasets []store.DatasetID
	// news counts what came to be known that may let more be cut.
	news uint64
	// marked counts the news by which files may not be cut any more, or again.
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
	// lacks is why an open secondary dataset is waited for, as the history tells it.
	lacks string
	// trouble is why files of datasets that come from outside do not come, by
	// their place in the job file.
	trouble map[int]string
}

// Idle says why nothing can be cut now, "" if something can.
func (g *Grid) Idle() string {
	if g.Merge != nil && g.Job.Merging != nil && !g.Job.Merging.Closed && !g.CutsWork() {
		return g.Merge.idle
	}
	if g.Reads == nil {
		return ""
	}
	return g.Reads.idle
}

// wakeMerge notes that there may be something to merge.
func (g *Grid) wakeMerge() {
	if g.Merge != nil {
		g.Merge.news++
		g.Merge.idle = ""
	}
}

// ReadsFiles reports whether a local job owns files of a dataset.
func (g *Grid) ReadsFiles(l *jjm.LocalJob) bool { return g.Processes() || l.Step == jjm.StepMerge }

// Processes reports whether the first step processes the files of a dataset; else it
// makes its work itself, whatever files come along with that.
func (g *Grid) Processes() bool { return g.Reads != nil && g.Job.Spec.Master() != nil }

// Closed reports whether no step of a grid job makes more local jobs.
func (g *Grid) Closed() bool {
	return g.Job.Step.Closed && (g.Merge == nil || g.Job.Merging != nil && g.Job.Merging.Closed)
}

// CutsWork reports whether the first step can be cut now; mergeIdle why the
// second cannot.
func (g *Grid) CutsWork() bool {
	return !g.Job.Step.Closed && (g.Reads == nil || g.Reads.idle == "")
}

// Cutting remembers a handler's decision between the cuts of one grid job.
type Cutting struct {
	handlers.Cutting
	Splitter split.Splitter
}

// reads is how far one of the two steps is.
func (g *Grid) reads(step int32) *Reads {
	if step == jjm.StepMerge {
		return g.Merge
	}
	return g.Reads
}

// News counts what came to be known that may let more be cut.
func (r *Reads) News() uint64 { return r.news }

// Marked counts the news by which files may not be cut any more, or again.
func (r *Reads) Marked() uint64 { return r.marked }

// ToWithdraw reports whether files were marked since local jobs that wait to be submitted
// last gave back what they own of marked files, or since the start.
func (r *Reads) ToWithdraw() bool { return r.withdrawn != r.marked+1 }

// Knows reports whether a step reads a dataset, once that is known.
func (r *Reads) Knows(id store.DatasetID) bool { return slices.Contains(r.datasets, id) }

// Troubles are why files that are to come from outside do not, in the order of the job
// file.
func (r *Reads) Troubles() (all []string) {
	for _, i := range slices.Sorted(maps.Keys(r.trouble)) {
		if text := r.trouble[i]; text != "" {
			all = append(all, text)
		}
	}
	return all
}

// Lacks is why an open secondary dataset is waited for, as the history tells it; "" if none
// is, or it was not found out since the start.
func (r *Reads) Lacks() string {
	if r == nil {
		return ""
	}
	return r.lacks
}

// Trouble is why files of one dataset of the job file do not come, "" if they do.
func (r *Reads) Trouble(dataset int) string { return r.trouble[dataset] }
