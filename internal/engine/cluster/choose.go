package cluster

import (
	"errors"
	"fmt"

	"jjm/adapters"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Choose returns the clusters that spec names and that can meet its request. The notes in the result are about the
// clusters that cannot meet the request, and about credentials that a renewal does not replace in the jobs of a
// cluster. The problems are the clusters that spec names and the site does not have, and if no cluster can meet the
// request, also the reasons of each cluster.
func (cs *Clusters) Choose(spec *jjm.Spec) (state.Choice, jjm.Problems) {
	candidates, unknown := plan.Candidates(spec.Clusters, cs.s.Names)
	var fit state.Choice
	var unmet jjm.Problems
	for _, name := range candidates {
		c := cs.all[name]
		bad := c.unmet(spec.Request)
		if spec.Merge != nil && !c.Adapter.Capabilities().SharedFS {
			bad = append(bad, jjm.Problem{Field: "merge",
				Text: "workers of cluster " + name + " do not see the work area, which has the files to be merged"})
		}
		if len(bad) == 0 {
			fit.Clusters = append(fit.Clusters, name)
			fit.Notes = append(fit.Notes, c.frozen(spec.Credentials)...)
			continue
		}
		fit.Notes = append(fit.Notes, fmt.Sprintf("not on %s: %s", name, bad[0]))
		unmet = append(unmet, bad...)
	}
	if len(fit.Clusters) > 0 {
		return fit, unknown
	}
	return fit, append(unknown, unmet...)
}

// unmet returns a problem for each part of a request that this cluster cannot meet, according to the cluster's
// capabilities and to the adapter.
func (c *Cluster) unmet(r jjm.Request) jjm.Problems {
	ps := unmet(c.Name, r, c.Caps())
	var err error
	if checker, ok := c.Adapter.(adapters.Checker); ok {
		err = checker.Check(r)
	} else {
		err = adapters.PlainOnly(c.Name, r)
	}
	var more jjm.Problems
	switch {
	case err == nil:
	case errors.As(err, &more):
		ps = append(ps, more...)
	default:
		ps = append(ps, jjm.Problem{Field: "request", Text: err.Error()})
	}
	return ps
}

// unmet returns a problem for each part of a request that exceeds the capabilities of a cluster.
func unmet(name string, r jjm.Request, caps adapters.Capabilities) jjm.Problems {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "request." + field, Text: fmt.Sprintf(format, args...)})
	}
	if caps.MaxCores > 0 && r.Cores > caps.MaxCores {
		bad("cores", "%d is more than cluster %s allows one job: at most %d", r.Cores, name, caps.MaxCores)
	}
	if caps.MaxMemoryMB > 0 && r.MemoryMB > caps.MaxMemoryMB {
		bad("memory_mb", "%d is more than cluster %s allows one job: at most %d", r.MemoryMB, name, caps.MaxMemoryMB)
	}
	if caps.MaxWalltime > 0 && r.Walltime.D() > caps.MaxWalltime {
		bad("walltime", "%s is more than cluster %s allows one job: at most %s", r.Walltime, name,
			jjm.Duration(caps.MaxWalltime))
	}
	return ps
}

// frozen returns a note, for people, for each kind of credential that jobs on this cluster keep: if the owner renews a
// credential of this kind, jobs that are already submitted do not get the newer one.
func (c *Cluster) frozen(kinds []string) (notes []string) {
	caps := c.Adapter.Capabilities()
	for _, kind := range kinds {
		if !caps.SharedFS && !(kind == jjm.ProxyKind && caps.RenewsProxies) {
			notes = append(notes, fmt.Sprintf(
				"on %s jobs keep the %s that they were submitted with: workers do not see the work area, which gets the newer ones",
				c.Name, kind))
		}
	}
	return notes
}

// NotReached returns notes, for people, about the local jobs of a grid job that are in a batch system now and do not
// get newer credentials of these kinds.
func (cs *Clusters) NotReached(id jjm.GridID, kinds []string) (notes []string) {
	v := cs.s.View()
	defer v.Close()
	g := v.Grid(id)
	if g == nil || len(kinds) == 0 {
		return nil
	}
	there := map[string]bool{}
	for i := range g.Locals {
		if s := g.Locals[i].State; s == jjm.Submitting || s == jjm.Submitted || s == jjm.Running {
			there[g.Locals[i].Cluster] = true
		}
	}
	for _, name := range cs.s.Names {
		if there[name] {
			notes = append(notes, cs.all[name].frozen(kinds)...)
		}
	}
	return notes
}
