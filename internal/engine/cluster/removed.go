package cluster

import (
	"fmt"
	"maps"
	"slices"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// removedText returns advice for people about batch jobs on a cluster that is no longer in the configuration.
func removedText(name string) string {
	return fmt.Sprintf("cluster %s has left the configuration: nobody follows or ends its jobs there until its [[cluster]] "+
		"is back and the daemon is started again", name)
}

// removed returns, by cluster, how many local jobs of g are in the batch systems of clusters that the site no longer
// has.
func (cs *Clusters) removed(g *state.Grid) map[string]int {
	gone := map[string]int{}
	for name, t := range g.ByCluster {
		l := t.Load()
		if _, known := cs.s.Positions[name]; name != "" && !known && state.Sum(l) > 0 {
			gone[name] = state.Sum(l)
		}
	}
	return gone
}

// removedOf returns a text for people for each cluster that the site no longer has and that has local jobs of g.
func (cs *Clusters) removedOf(g *state.Grid) (out []string) {
	gone := cs.removed(g)
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		out = append(out, jjm.Count(gone[name], "local job")+": "+removedText(name))
	}
	return out
}

// WarnRemoved logs a warning for each cluster that has local jobs and is not in the configuration. It is called after
// the start of the daemon.
func (cs *Clusters) WarnRemoved() {
	gone := map[string]int{}
	v := cs.s.View()
	for _, g := range v.Grids() {
		for name, n := range cs.removed(g) {
			gone[name] += n
		}
	}
	v.Close()
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		cs.b.Log.Warn("a cluster that has jobs has left the configuration", "cluster", name, "jobs", gone[name],
			"remedy", removedText(name))
	}
}
