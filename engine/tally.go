package engine

import (
	"jjm"
	"jjm/plan"
	"slices"
	"strings"
)

// tally counts the local jobs of a grid job that one cluster has, or had last.
type tally struct {
	counts [jjm.NumStates]int
	// retrying are those of them between two attempts.
	retrying int
	// at counts by place those that are in the batch system or about to be.
	at counter
}

// load is how many of them are in the batch system or about to be.
func (t *tally) load() plan.Load {
	if t == nil {
		return plan.Load{}
	}
	return plan.Load{
		Pending: t.counts[jjm.Submitted] + t.counts[jjm.Submitting] - t.retrying,
		Running: t.counts[jjm.Running] + t.counts[jjm.Completing],
	}
}

// of is how many local jobs of a place are in the batch system or about to be.
func (t *tally) of(place int32) int {
	if t == nil {
		return 0
	}
	return t.at.of(place)
}

// count adds a local job to its cluster's tally, or takes it off.
func (g *grid) count(l *jjm.LocalJob, by int) {
	if l.Cluster == "" {
		return
	}
	t := g.on[l.Cluster]
	if t == nil {
		if g.on == nil {
			g.on = map[string]*tally{}
		}
		t = &tally{}
		g.on[l.Cluster] = t
	}
	t.counts[l.State] += by
	t.retrying += by * retrying(l)
	t.at.add(l.Place, by*inBatch(l))
}

// unsent counts the local jobs that no batch system has got yet, or that wait
// for their next attempt.
func (g *grid) unsent() int { return g.counts[jjm.New] + g.retrying }

// clusterJobs gives the cluster jobs of a grid job, by name of the cluster.
func (g *grid) clusterJobs() []jjm.ClusterJob {
	var out []jjm.ClusterJob
	for name, t := range g.on {
		if j := (jjm.ClusterJob{Cluster: name, Counts: t.counts}); j.Jobs() > 0 {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b jjm.ClusterJob) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out
}

func sum(l plan.Load) int { return l.Pending + l.Running }
