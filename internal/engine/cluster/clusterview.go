package cluster

import (
	"context"
	"slices"
	"strings"

	"jjm/adapters"
	"jjm/adapters/idealize"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// ideal is implemented by adapters behind an idealizer, which is a layer that bounds and repeats the commands of an
// adapter.
type ideal interface {
	Status() idealize.Status
	Reset()
}

// view returns the state of the cluster for people, without the counts of jobs and without learnt limits. of reports
// whether the view may name local jobs of a grid job; nil allows all.
func (c *Cluster) view(mem state.Memory, of func(jjm.GridID) bool) wire.Cluster {
	caps := c.Caps()
	w := wire.Cluster{Name: c.Name, Kind: c.Kind, Guarantee: caps.Guarantee, Slots: caps.Slots,
		Storages: c.Config.Storages, Limits: c.limits(caps),
		Trouble: append(c.health.Outage(), c.health.Doubts(mem, of)...)}
	c.health.Tell(&w)
	if u := c.unprobed.Load(); u != nil {
		u.tell(&w)
	}
	c.failing.Tell(&w)
	w.Listing, w.Interval = jjm.Duration(c.watcher.Pace()), jjm.Duration(c.watcher.Every())
	if i, ok := c.Adapter.(ideal); ok {
		s := i.Status()
		w.Commands, w.Ceiling = s.Used, s.Ceiling
		w.Breaker, w.Accounting = breakerView(s.Breaker), breakerView(s.Accounting)
	}
	if !w.Healthy || w.Breaker != nil {
		w.Remedy = c.remedy()
	}
	return w
}

// View returns the state of a cluster for people, without the counts of jobs. name must be a cluster of the site. of
// selects the grid jobs whose long unknown local jobs are named; nil selects all. may selects the accounts whose learnt
// limits and failing listings are shown.
func (cs *Clusters) View(mem state.Memory, name string, of func(jjm.GridID) bool, may func(uid int) bool) wire.Cluster {
	c := cs.all[name]
	w := c.view(mem, of)
	w.Learnt = c.share.Limits(may)
	if w.Healthy && w.Breaker == nil { // else the outage is told, which has the same cause
		if w.Unlisted = c.health.Unlisted.All(may); len(w.Unlisted) > 0 {
			w.Remedy = c.remedy()
		}
	}
	return w
}

// limits returns the limits on jobs of this cluster: the batch system's limits, which are in caps, and the limits of
// the configuration.
func (c *Cluster) limits(caps adapters.Capabilities) wire.Limits {
	return wire.Limits{
		MaxCores: caps.MaxCores, MaxMemoryMB: caps.MaxMemoryMB, MaxWalltime: jjm.Duration(caps.MaxWalltime),
		MaxQueued:  caps.MaxQueued,
		MaxPending: c.share.MaxPending(), MaxRunning: c.Config.MaxRunning,
		MaxPendingPerUser: c.Config.MaxPendingPerUser, MaxRunningPerUser: c.Config.MaxRunningPerUser,
	}
}

// Waiting returns the number of local jobs that wait to be submitted or are being submitted. A local job that may go to
// several clusters counts once.
func (cs *Clusters) Waiting() int {
	v := cs.s.View()
	defer v.Close()
	n := 0
	for _, g := range v.Grids() {
		if g.Job.Status.Final() {
			continue
		}
		n += g.Unsent()
		for _, t := range g.ByCluster {
			n += t.Counts[jjm.Submitting] - t.Retrying
		}
	}
	return n
}

// breakerView returns the state of a circuit breaker for people, nil if it is closed.
func breakerView(b idealize.BreakerStatus) *wire.Breaker {
	if b.State == idealize.Closed {
		return nil
	}
	return &wire.Breaker{State: b.State.String(), Since: jjm.At(b.Since), Cause: b.Cause, NextProbe: jjm.At(b.NextProbe)}
}

// Reset closes the circuit breaker of a cluster and wakes the cluster's loops, for an administrator who knows that the
// batch system works again. The circuit breaker stops the commands of a batch system after repeated failures. The error
// is of kind Denied if the caller is no administrator, and Gone if the site has no such cluster.
func (cs *Clusters) Reset(_ context.Context, caller wire.Caller, r wire.ResetRequest) (a wire.None, err error) {
	if !caller.Admin {
		return a, jjm.Errorf(jjm.Denied, "reset %.40s: %s is no administrator: want root or one of gate.admins "+
			"(with gate.mode 0600 the daemon's account too)", r.Cluster, caller.User)
	}
	c := cs.all[r.Cluster]
	if c == nil {
		return a, jjm.Errorf(jjm.Gone, "this site has no cluster %.40q: it has %s", r.Cluster,
			strings.Join(cs.s.Names, ", "))
	}
	if i, ok := c.Adapter.(ideal); ok {
		i.Reset()
	}
	cs.b.Log.Info("circuit breaker closed by hand", "cluster", r.Cluster, "by", caller.Actor())
	c.watcher.Wake()
	c.submitter.Wake()
	c.controller.Wake()
	return a, nil
}

// TroubleOf returns texts for people about everything that is wrong with the clusters and datasets of a grid job: long
// outages, local jobs that have been missing from listings for long, submissions that are not settled, local jobs on
// clusters that the site no longer has, and sources of datasets that cannot be read. It returns nil for an ended grid
// job.
func (cs *Clusters) TroubleOf(mem state.Memory, g *state.Grid) []string {
	if g.Job.Status.Final() {
		return nil
	}
	out := cs.removedOf(g)
	if g.Reads != nil {
		out = append(out, g.Reads.Troubles()...)
	}
	for _, name := range cs.s.Names {
		if c := cs.all[name]; slices.Contains(g.Job.Step.Clusters, name) || g.ByCluster[name] != nil {
			out = append(append(out, c.health.Outage()...),
				c.health.Doubts(mem, func(id jjm.GridID) bool { return id == g.Job.ID })...)
		}
	}
	return out
}
