// Package cluster submits local jobs to the site's batch systems and follows them there. It forms bulks of ready local
// jobs and submits each bulk with one command, finds out what became of submissions whose outcome is unknown, applies
// listings of the batch systems to memory, proves that missing jobs are really absent, and cancels and releases jobs.
// It reports the ends of attempts to package endings; package verdict decides what the ends mean. The rules for
// decisions are in package plan.
//
// Packages below this one do a part of this each: submit forms, submits and settles bulks, watch applies listings,
// control cancels and releases, share says which cluster may take which local jobs, outage keeps whether a batch system
// answers. All of them stand on package system, and none imports package cluster.
//
// A bulk goes through these steps. After a crash between two steps the settler continues:
//
//	choose   members are taken from the ready local jobs, in memory
//	intend   the assignment file is written, then the bulk is stored    BulkIntent
//	act      the submission command runs
//	outcome  the batch system's id is stored                            BulkAccepted
//	release  if the batch system received the bulk held: the jobs may   BulkReleased
//	         run from now on
//
// Commands of a batch system run as the account that runs the jobs: the owner of the jobs, or the service account if
// all jobs run as one account. In this package, "account" means this account.
package cluster

import (
	"context"
	"time"

	"jjm/adapters"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/cluster/share"
	"jjm/internal/engine/cluster/watch"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/state"
	"jjm/internal/engine/floor/sweep"
)

// Clusters are the batch systems of the site. Their methods may be called from many goroutines.
type Clusters struct {
	b       *base.Base
	s       *state.State
	areas   *areas.Areas
	lineage *lineage.Lineage
	sweeper *sweep.Sweeper
	ends    *endings.Endings
	site    *share.Site
	all     map[string]*Cluster
}

// New returns the clusters of the configuration. It starts no goroutines; the caller runs the functions that Loops
// returns.
func New(s *state.State, as *areas.Areas, sw *sweep.Sweeper, ln *lineage.Lineage, ends *endings.Endings) *Clusters {
	cs := &Clusters{b: s.B, s: s, areas: as, sweeper: sw, lineage: ln, ends: ends,
		site: share.NewSite(s), all: map[string]*Cluster{}}
	for _, c := range s.B.Deps.Clusters {
		cs.all[c.Adapter.Name()] = newCluster(cs, c)
	}
	return cs
}

// Wake wakes the submit loops of all clusters and returns immediately.
func (cs *Clusters) Wake() {
	for _, c := range cs.all {
		c.submitter.Wake()
	}
}

// Loops returns the loops of all clusters. The caller runs each in its own goroutine until the engine stops.
func (cs *Clusters) Loops() (loops []func(context.Context)) {
	for _, name := range cs.s.Names {
		loops = append(loops, cs.all[name].loops()...)
	}
	return append(loops, func(ctx context.Context) { watch.HoldLoop(ctx, cs.s) })
}

// loops returns the loops of one cluster. Its submit loop waits for the first probe, which finds out the cluster's
// limits.
func (c *Cluster) loops() []func(context.Context) {
	loops := []func(context.Context){c.watcher.Loop, c.controller.Loop, func(ctx context.Context) {
		c.awaitProbe(ctx)
		c.submitter.Loop(ctx)
	}}
	if r, ok := c.Adapter.(adapters.Runner); ok {
		loops = append(loops, func(ctx context.Context) { c.runAdapter(ctx, r) })
	}
	if p, ok := c.Adapter.(adapters.Prober); ok {
		return append(loops, func(ctx context.Context) { c.probeLoop(ctx, p) })
	}
	c.probed.Do(func() { close(c.ready) })
	return loops
}

// runAdapter runs an adapter's own loop. If the loop ends before the daemon stops, runAdapter logs the loop's error and
// starts the loop again. If a cancel is final on the cluster, runAdapter first cancels the jobs that were killed before
// the daemon stopped, so that the adapter starts none of these jobs.
func (c *Cluster) runAdapter(ctx context.Context, r adapters.Runner) {
	c.halter.All(ctx, func(*state.Grid) bool { return true })
	for ctx.Err() == nil {
		if err := r.Run(ctx); err != nil && ctx.Err() == nil {
			c.b.Log.Error("batch system stopped, starting it again", "cluster", c.Name, "error", err)
		}
		fair.Pause(ctx, time.Second)
	}
}

// Verbs returns the verbs of the daemon's socket that cs carries out.
func Verbs(cs *Clusters) []serve.Verb {
	return []serve.Verb{
		serve.Handle(wire.VerbReset(), serve.Administrators, cs.Reset),
	}
}
