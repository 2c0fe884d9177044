package state

import (
	"maps"
	"slices"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/split"
)

// Reads describes the datasets that a step of a grid job reads, and
// whether more can be cut from these datasets.
type Reads struct {
	// datasets are the datasets that the step reads, nil until the grid job is known to be
	// prepared.
	datasets []store.DatasetID
	// news counts events after which more can perhaps be cut: new files, closed datasets, ends of local jobs.
	news uint64
	// marked counts the events that marked files as lost, broken or ready again.
	marked uint64
	// fills counts how often files were added to datasets in several transactions; see Filling.
	fills uint64
	// withdrawn is 1 + the value of marked when local jobs that wait for submission last gave
	// back their work on marked files; 0 = not since the daemon started.
	withdrawn uint64
	// idle is why nothing can be cut now; "" if that is not known, or there has been news
	// since it was set.
	idle string
	// filling is true if idle is awaitsFiles: the step waits until Filled is called.
	filling bool
	// due is when to look again without news, for grid jobs for which WaitsForTime is true;
	// 0 = not set.
	due jjm.Time
	// lacks is why the step waits for an open secondary dataset, in the words of the
	// journal.
	lacks string
	// trouble is why sources of datasets cannot be read, by the position of the dataset
	// in the job file.
	trouble map[int]string
}

// Idle returns why the step that is being cut can make no local jobs now, "" if it can or that is not known.
func (g *Grid) Idle() string {
	if g.Merge != nil && g.Job.Merging != nil && !g.Job.Merging.Closed && !g.CutsWork() {
		return g.Merge.idle
	}
	if g.Reads == nil {
		return ""
	}
	return g.Reads.idle
}

// wakeMerge counts news for the second step: there may be more to merge.
func (g *Grid) wakeMerge() {
	if g.Merge != nil {
		g.Merge.news++
		g.Merge.setIdle("", false)
	}
}

// ReadsFiles reports whether a local job owns files of a dataset.
func (g *Grid) ReadsFiles(l *jjm.LocalJob) bool { return g.Processes() || l.Step == jjm.StepMerge }

// Processes reports whether the first step processes the files of a dataset. If not, the
// job type generates the work, with or without files of secondary datasets.
func (g *Grid) Processes() bool { return g.Reads != nil && g.Job.Spec.Master() != nil }

// Closed reports whether no step of a grid job makes more local jobs.
func (g *Grid) Closed() bool {
	return g.Job.Step.Closed && (g.Merge == nil || g.Job.Merging != nil && g.Job.Merging.Closed)
}

// CutsWork reports whether the first step can perhaps be cut now.
func (g *Grid) CutsWork() bool {
	return !g.Job.Step.Closed && (g.Reads == nil || g.Reads.idle == "")
}

// Cutting is the way in which a job type cuts a grid job. It is kept in memory between the cuts.
type Cutting struct {
	handlers.Cutting
	Splitter split.Splitter
}

// reads returns the Reads of a step.
func (g *Grid) reads(step int32) *Reads {
	if step == jjm.StepMerge {
		return g.Merge
	}
	return g.Reads
}

// setIdle sets why nothing can be cut now. After "" the step is checked again.
func (r *Reads) setIdle(why string, filling bool) { r.idle, r.filling = why, filling }

// News returns the number of events after which more can perhaps be cut.
func (r *Reads) News() uint64 { return r.news }

// Marked returns the number of events that marked files.
func (r *Reads) Marked() uint64 { return r.marked }

// ToWithdraw reports whether local jobs that wait for submission have to be looked
// through for marked files: files were marked since the last time, or the daemon has just
// started.
func (r *Reads) ToWithdraw() bool { return r.withdrawn != r.marked+1 }

// Knows reports whether the step is known to read a dataset.
func (r *Reads) Knows(id store.DatasetID) bool { return slices.Contains(r.datasets, id) }

// Troubles returns why sources of datasets cannot be read, in the order of the job file.
func (r *Reads) Troubles() (all []string) {
	for _, i := range slices.Sorted(maps.Keys(r.trouble)) {
		if text := r.trouble[i]; text != "" {
			all = append(all, text)
		}
	}
	return all
}

// Lacks returns why the step waits for an open secondary dataset, in the words of the
// journal; "" if it does not wait, or has not been looked at since the daemon started. r may
// be nil.
func (r *Reads) Lacks() string {
	if r == nil {
		return ""
	}
	return r.lacks
}

// Trouble returns why the source of a dataset, by its position in the job file, cannot be
// read, "" if it can.
func (r *Reads) Trouble(dataset int) string { return r.trouble[dataset] }
