// Package cluster works the batch systems of the site: it forms bulks of ready local
// jobs and submits them, settles what is in doubt, lists, notices what is missing,
// cancels and releases.
package cluster

import (
	"context"
	"time"

	"jjm/adapters"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/endings"
	"jjm/engine/fair"
	"jjm/engine/state"
)

// Clusters are the batch systems of the site.
type Clusters struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas
	ends  *endings.Endings
	all   map[string]*Cluster
}

// New returns those of the configuration. It starts nothing: Run does.
func New(s *state.State, as *areas.Areas, ends *endings.Endings) *Clusters {
	cs := &Clusters{b: s.B, s: s, areas: as, ends: ends, all: map[string]*Cluster{}}
	for _, c := range s.B.Deps.Clusters {
		cs.all[c.Adapter.Name()] = newCluster(cs, c)
	}
	return cs
}

// Wake has the submit loops look at what is ready. It does not wait.
func (cs *Clusters) Wake() {
	for _, c := range cs.all {
		c.submitter.wakeSubmit()
	}
}

// Loops are what is to be run until the end.
func (cs *Clusters) Loops() (loops []func(context.Context)) {
	for _, name := range cs.s.Names {
		loops = append(loops, cs.all[name].loops()...)
	}
	return append(loops, cs.holdLoop)
}

// loops are those of one cluster.
func (c *Cluster) loops() []func(context.Context) {
	loops := []func(context.Context){c.watcher.watchLoop, c.controller.controlLoop, func(ctx context.Context) {
		c.awaitProbe(ctx)
		c.submitter.submitLoop(ctx)
	}}
	if r, ok := c.adapter.(adapters.Runner); ok {
		loops = append(loops, func(ctx context.Context) { c.runAdapter(ctx, r) })
	}
	if p, ok := c.adapter.(adapters.Prober); ok {
		return append(loops, func(ctx context.Context) { c.probeLoop(ctx, p) })
	}
	c.probed.Do(func() { close(c.ready) })
	return loops
}

// runAdapter keeps an adapter's own loop alive: its end before ours is trouble
// that is logged and tried again, never the daemon's end.
func (c *Cluster) runAdapter(ctx context.Context, r adapters.Runner) {
	for ctx.Err() == nil {
		if err := r.Run(ctx); err != nil && ctx.Err() == nil {
			c.b.Log.Error("batch system stopped, starting it again", "cluster", c.name, "error", err)
		}
		fair.Pause(ctx, time.Second)
	}
}
