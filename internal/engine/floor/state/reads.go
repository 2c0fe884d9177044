package state

import (
	"maps"
	"slices"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/split"
)

// Reads describes the datasets that a step of a grid job reads, and whether more of their files can be cut into parts
// now. A step that cannot be cut now is idle until there is news.
type Reads struct {
	// datasets are the datasets that the step reads; nil if they are not known yet, because the grid job is not prepared
	// or was not looked at since the daemon's start.
	datasets []store.DatasetID
	// news counts the events after which more can perhaps be cut: new files, lost files, closed datasets, and ends of
	// local jobs.
	news uint64
	// marked counts the events that marked files as lost, broken or ready again.
	marked uint64
	// fills counts the additions to the datasets that began since the daemon's start; see Memo.Filling. An addition adds
	// files that belong together in several transactions.
	fills uint64
	// withdrawn is 1 + the value of marked up to which the local jobs that wait for submission have given back their work
	// on marked files; 0 if they have not been looked at since the daemon's start.
	withdrawn uint64
	// idle is the reason, for people, why nothing can be cut now. It is "" if that is not known, or if there has been news
	// since idle was set.
	idle string
	// filling is true if idle is awaitsFiles: the step then waits until Filled is called.
	filling bool
	// due is the time at which the grid job is to be looked at again without news, if WaitsForTime is true for it; 0 if
	// the time is not set.
	due jjm.Time
	// lacks is the reason why the step waits for files of a secondary dataset that is still open, in the words of the
	// journal; "" if it does not wait.
	lacks string
	// trouble is the reason why the source of a dataset cannot be read, by the position of the dataset in the job file.
	trouble map[int]string
}

// Idle returns the reason why the step that is being cut can make no local jobs now. It returns "" if the step can make
// local jobs or if that is not known.
func (g *Grid) Idle() string {
	if g.Merge != nil && g.Job.Merging != nil && !g.Job.Merging.Closed && !g.CutsWork() {
		return g.Merge.idle
	}
	if g.Reads == nil {
		return ""
	}
	return g.Reads.idle
}

// wakeMerge counts news for the second step and makes the step no longer idle, because there may be more outputs to
// merge. It does nothing if the grid job does not merge.
func (g *Grid) wakeMerge() {
	if g.Merge != nil {
		g.Merge.news++
		g.Merge.setIdle("", false)
	}
}

// ReadsFiles reports whether a local job of the grid job owns files of a dataset. All merges do: the outputs to merge
// are such a dataset.
func (g *Grid) ReadsFiles(l *jjm.LocalJob) bool { return g.Processes() || l.Step == jjm.StepMerge }

// Processes reports whether the first step processes the files of a primary dataset. If it does not, the job type
// generates the work; its parts may then read files of secondary datasets.
func (g *Grid) Processes() bool { return g.Reads != nil && g.Job.Spec.Master() != nil }

// Closed reports whether no step of a grid job makes more local jobs.
func (g *Grid) Closed() bool {
	return g.Job.Step.Closed && (g.Merge == nil || g.Job.Merging != nil && g.Job.Merging.Closed)
}

// CutsWork reports whether the first step can perhaps make more local jobs now: the step is neither closed nor idle.
func (g *Grid) CutsWork() bool {
	return !g.Job.Step.Closed && (g.Reads == nil || g.Reads.idle == "")
}

// Cutting is the job type's decision how a grid job is cut into parts, with the splitter that cuts. It is kept in
// memory between two cuts.
type Cutting struct {
	handlers.Cutting
	Splitter split.Splitter
}

// reads returns the Reads of a step, nil if the step reads no dataset.
func (g *Grid) reads(step int32) *Reads {
	if step == jjm.StepMerge {
		return g.Merge
	}
	return g.Reads
}

// setIdle sets the reason why nothing can be cut now, and whether the reason is that files are being added. With the
// reason "", the step is looked at again.
func (r *Reads) setIdle(why string, filling bool) { r.idle, r.filling = why, filling }

// News returns the number of events after which more can perhaps be cut.
func (r *Reads) News() uint64 { return r.news }

// Marked returns the number of events that marked files as lost, broken or ready again.
func (r *Reads) Marked() uint64 { return r.marked }

// ToWithdraw reports whether the local jobs that wait for submission must be searched for work on marked files, because
// files were marked since the last search or no search was made since the daemon's start.
func (r *Reads) ToWithdraw() bool { return r.withdrawn != r.marked+1 }

// Knows reports whether the step is known to read a dataset.
func (r *Reads) Knows(id store.DatasetID) bool { return slices.Contains(r.datasets, id) }

// Troubles returns the reasons why sources of datasets cannot be read, in the order of the datasets in the job file.
func (r *Reads) Troubles() (all []string) {
	for _, i := range slices.Sorted(maps.Keys(r.trouble)) {
		if text := r.trouble[i]; text != "" {
			all = append(all, text)
		}
	}
	return all
}

// Lacks returns the reason why the step waits for files of a secondary dataset that is still open, in the words of the
// journal. It returns "" if the step does not wait, or was not looked at since the daemon's start. r may be nil.
func (r *Reads) Lacks() string {
	if r == nil {
		return ""
	}
	return r.lacks
}

// Trouble returns the reason why the source of a dataset cannot be read, "" if it can be read. dataset is the position
// of the dataset in the job file.
func (r *Reads) Trouble(dataset int) string { return r.trouble[dataset] }
