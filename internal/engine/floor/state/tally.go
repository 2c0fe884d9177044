package state

import (
	"iter"
	"slices"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// tally counts those local jobs of a grid job whose current or last attempt is on one particular cluster.
type tally struct {
	Counts [jjm.NumStates]int
	// Retrying counts the local jobs whose last attempt has ended and whose next attempt is not submitted yet.
	Retrying int
	// at counts, by place, the local jobs that the batch system has or is about to get.
	at counter
}

// Load returns how many local jobs wait and run in the batch system, or are about to be submitted to it (these count as
// waiting). t may be nil.
func (t *tally) Load() plan.Load {
	if t == nil {
		return plan.Load{}
	}
	return plan.Load{
		Pending: t.Counts[jjm.Submitted] + t.Counts[jjm.Submitting] - t.Retrying,
		Running: t.Counts[jjm.Running] + t.Counts[jjm.Completing],
	}
}

// Of returns how many local jobs of a place the batch system has or is about to get. t may be nil.
func (t *tally) Of(place int32) int {
	if t == nil {
		return 0
	}
	return t.at.Of(place)
}

// count adds by to the tally of the cluster of a local job's last bulk: 1 for a new row, -1 for a row that is replaced.
// It does nothing if the local job was in no bulk yet.
func (g *Grid) count(l *jjm.LocalJob, by int) {
	if l.Cluster == "" {
		return
	}
	t := g.ByCluster[l.Cluster]
	if t == nil {
		if g.ByCluster == nil {
			g.ByCluster = map[string]*tally{}
		}
		t = &tally{}
		g.ByCluster[l.Cluster] = t
	}
	t.Counts[l.State] += by
	t.Retrying += by * retrying(l)
	t.at.add(l.Place, by*inBatch(l))
}

// InBatch returns an iterator over the grid job's clusters. For each it yields how many local jobs the batch system has
// or is about to get, by state.
func (g *Grid) InBatch() iter.Seq2[string, [jjm.NumStates]int] {
	return func(yield func(string, [jjm.NumStates]int) bool) {
		for name, t := range g.ByCluster {
			var jobs [jjm.NumStates]int
			for s := jjm.Submitting; s.InBatch(); s++ {
				jobs[s] = t.Counts[s]
			}
			jobs[jjm.Submitting] -= t.Retrying
			if !yield(name, jobs) {
				return
			}
		}
	}
}

// Unsent returns the number of local jobs that wait for the submission of their first or next attempt.
func (g *Grid) Unsent() int { return g.Counts[jjm.New] - g.Unsubmitted + g.retrying }

// ClusterJobs returns, for each cluster that has or had local jobs of the grid job, the counts of these local jobs by
// state, sorted by cluster.
func (g *Grid) ClusterJobs() []jjm.ClusterJob {
	var out []jjm.ClusterJob
	for name, t := range g.ByCluster {
		if j := (jjm.ClusterJob{Cluster: name, Counts: t.Counts}); j.Jobs() > 0 {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b jjm.ClusterJob) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out
}

// Sum returns the number of local jobs of a load.
func Sum(l plan.Load) int { return l.Pending + l.Running }
