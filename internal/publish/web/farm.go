package web

import (
	"context"
	"net/http"
	"strconv"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// mostRows bounds the grid jobs and clusters on a page.
const (
	mostRows     = 50
	mostClusters = 100
)

// farm is the page of the whole site.
type farm struct {
	Grids, Locals []count
	Known         bool // the reader has an account
	Clusters      []clusterRow
	LeftOut       int // clusters
	// Health is set for administrators.
	Health *siteHealth
	// Jobs are the grid jobs of the reader on this page.
	Jobs gridList
}

// clusterRow is one cluster in a table. Cause, Remedy, which is what a person can do about the trouble, and Excluded,
// the number of excluded hosts, are set only for readers with an account.
type clusterRow struct {
	Name, Kind, State               string
	Waiting, Queued, Running, Slots int
	Cause, Remedy                   string
	Excluded                        int
}

// farm returns the view of the whole site: the numbers of jobs, the clusters, and, if the reader has an account, the
// reader's grid jobs.
func (p *Page) farm(ctx context.Context, v viewer, r *http.Request) (any, error) {
	q, err := gridQueryOf(r)
	if err != nil {
		return nil, err
	}
	out, now := &farm{Known: v.known}, jjm.At(p.d.Now())
	counts := p.d.Counts()
	for i, n := range counts.Grids {
		out.Grids = append(out.Grids, count{jjm.GridStatus(i).String(), n})
	}
	for i, n := range counts.Locals {
		out.Locals = append(out.Locals, count{jjm.State(i).String(), n})
	}
	out.Grids, out.Locals = some(out.Grids), some(out.Locals)
	clusters, err := serve.Ask(ctx, p.d.Verbs, wire.VerbClusters(), v.Caller, wire.ClustersRequest{})
	if err != nil {
		return nil, err
	}
	for i := range clusters.Clusters {
		if i == mostClusters {
			out.LeftOut = len(clusters.Clusters) - i
			break
		}
		out.Clusters = append(out.Clusters, rowOf(&clusters.Clusters[i], v.known, now))
	}
	if !v.known {
		return out, nil
	}
	if v.Admin {
		found := p.health(ctx, v)
		out.Health = &found
	}
	excluded, err := p.excluded(ctx, v)
	if err != nil {
		return nil, err
	}
	for i := range out.Clusters {
		out.Clusters[i].Excluded = len(excluded[out.Clusters[i].Name])
	}
	out.Jobs, err = p.grids(ctx, v, q)
	return out, err
}

// excluded returns the exclusions of hosts that are in force, by cluster.
func (p *Page) excluded(ctx context.Context, v viewer) (map[string][]jjm.Exclusion, error) {
	a, err := serve.Ask(ctx, p.d.Verbs, wire.VerbExclude(), v.Caller, wire.ExcludeRequest{})
	if err != nil || a.Excluded == nil {
		return nil, err
	}
	by := map[string][]jjm.Exclusion{}
	for _, e := range a.Excluded.Hosts {
		by[e.Cluster] = append(by[e.Cluster], e)
	}
	return by, nil
}

// rowOf returns the table row of a cluster. Its state is the first of these that applies: an open circuit breaker,
// other trouble of the batch system, an order of an administrator such as a pause, "not asked yet", "ok".
func rowOf(c *wire.Cluster, causes bool, now jjm.Time) clusterRow {
	row := clusterRow{Name: c.Name, Kind: c.Kind, State: "ok", Waiting: c.Waiting, Queued: c.Queued, Running: c.Running,
		Slots: c.Slots}
	switch {
	case c.Breaker != nil:
		row.State = "breaker " + c.Breaker.State
	case !c.Healthy:
		row.State = "in trouble"
	case c.LastSeen == 0 && c.Slots == 0: // neither a listing nor a probe has returned anything
		row.State = "not asked yet"
	}
	for _, o := range c.Orders { // the list has a pause after a drain, and the pause is shown
		if c.Breaker == nil && c.Healthy && o.Kind == jjm.OrderCluster && o.Begun(now) {
			row.State = o.Doing()
		}
	}
	if causes {
		row.Cause, row.Remedy = c.Cause, c.Remedy
	}
	return row
}

// clusterView is the page of one cluster. Cluster is nil for readers who see only counts.
type clusterView struct {
	Row     clusterRow
	Cluster *wire.Cluster
	Limits  [][2]string
	// Excluded are the excluded hosts of the cluster.
	Excluded []jjm.Exclusion
}

// cluster returns the view of one cluster.
func (p *Page) cluster(ctx context.Context, v viewer, r *http.Request) (any, error) {
	all, err := serve.Ask(ctx, p.d.Verbs, wire.VerbClusters(), v.Caller, wire.ClustersRequest{})
	if err != nil {
		return nil, err
	}
	for i := range all.Clusters {
		c := &all.Clusters[i]
		if c.Name != r.PathValue("name") {
			continue
		}
		out := &clusterView{Row: rowOf(c, v.known, jjm.At(p.d.Now()))}
		if v.known {
			c.LastSeen, c.Listing, c.Commands = c.LastSeen-c.LastSeen%60_000, 0, 0 // these values change all the time
			out.Cluster, out.Limits = c, limitsOf(c.Limits)
			excluded, err := p.excluded(ctx, v)
			out.Excluded = excluded[c.Name]
			return out, err
		}
		return out, nil
	}
	return nil, jjm.Errorf(jjm.Gone, "this site has no cluster %.60q", r.PathValue("name"))
}

// limitsOf returns the limits of a cluster that are set, for people.
func limitsOf(l wire.Limits) (out [][2]string) {
	add := func(what string, n int64, unit string) {
		if n != 0 {
			out = append(out, [2]string{what, strconv.FormatInt(n, 10) + unit})
		}
	}
	add("cores of a job", int64(l.MaxCores), "")
	add("memory of a job", l.MaxMemoryMB, " MiB")
	if l.MaxWalltime != 0 {
		out = append(out, [2]string{"walltime of a job", jjm.HowLong(l.MaxWalltime.D())})
	}
	add("jobs of an account in the batch system", int64(l.MaxQueued), "")
	add("waiting jobs", int64(l.MaxPending), "")
	add("running jobs", int64(l.MaxRunning), "")
	add("waiting jobs of a user", int64(l.MaxPendingPerUser), "")
	add("running jobs of a user", int64(l.MaxRunningPerUser), "")
	return out
}
