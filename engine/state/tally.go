package state

import (
	"slices"
	"strings"

	"jjm"
	"jjm/plan"
)

// tally counts the local jobs of a grid job that one cluster has, or had last.
type tally struct {
	Counts [jjm.NumStates]int
	// Retrying are those of them between two attempts.
	Retrying int
	// at counts by place those that are in the batch system or about to be.
	at counter
}

// Load is how many of them are in the batch system or about to be.
func (t *tally) Load() plan.Load {
	if t == nil {
		return plan.Load{}
	}
	return plan.Load{
		Pending: t.Counts[jjm.Submitted] + t.Counts[jjm.Submitting] - t.Retrying,
		Running: t.Counts[jjm.Running] + t.Counts[jjm.Completing],
	}
}

// Of is how many local jobs of a place are in the batch system or about to be.
func (t *tally) Of(place int32) int {
	if t == nil {
		return 0
	}
	return t.at.Of(place)
}

// count adds a local job to its cluster's tally, or takes it off.
func (g *Grid) count(l *jjm.LocalJob, by int) {
	if l.Cluster == "" {
		return
	}
	t := g.On[l.Cluster]
	if t == nil {
		if g.On == nil {
			g.On = map[string]*tally{}
		}
		t = &tally{}
		g.On[l.Cluster] = t
	}
	t.Counts[l.State] += by
	t.Retrying += by * retrying(l)
	t.at.add(l.Place, by*inBatch(l))
}

// Unsent counts the local jobs that no batch system has got yet, or that wait
// for their next attempt.
func (g *Grid) Unsent() int { return g.Counts[jjm.New] + g.retrying }

// ClusterJobs returns the cluster jobs of a grid job, by name of the cluster.
func (g *Grid) ClusterJobs() []jjm.ClusterJob {
	var out []jjm.ClusterJob
	for name, t := range g.On {
		if j := (jjm.ClusterJob{Cluster: name, Counts: t.Counts}); j.Jobs() > 0 {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b jjm.ClusterJob) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out
}

func Sum(l plan.Load) int { return l.Pending + l.Running }
