package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"jjm"
	"jjm/adapters/idealize"
	"jjm/wire"
)

// ideal is an adapter behind an idealizer.
type ideal interface {
	Status() idealize.Status
	Reset()
}

// view is how people see the cluster, but for the jobs. The memory lock is held.
func (c *cluster) view() wire.Cluster {
	caps, polling := c.caps(), c.polling()
	w := wire.Cluster{Name: c.name, Kind: c.kind, Guarantee: caps.Guarantee, Slots: caps.Slots,
		Trouble: append(c.outage(), c.doubts(0)...)}
	c.mu.Lock()
	w.Healthy, w.Cause, w.LastSeen = c.cause == "", c.cause, jjm.At(c.lastGood)
	if !w.Healthy {
		w.Since = jjm.At(c.badSince)
	}
	w.Listing, w.Interval = jjm.Duration(c.took), jjm.Duration(polling.Every(c.took))
	c.mu.Unlock()
	if i, ok := c.adapter.(ideal); ok {
		s := i.Status()
		w.Commands, w.Ceiling = s.Used, s.Ceiling
		w.Breaker, w.Accounting = breakerView(s.Breaker), breakerView(s.Accounting)
	}
	return w
}

// breakerView shows a breaker that is not closed.
func breakerView(b idealize.BreakerStatus) *wire.Breaker {
	if b.State == idealize.Closed {
		return nil
	}
	return &wire.Breaker{State: b.State.String(), Since: jjm.At(b.Since), Cause: b.Cause, NextProbe: jjm.At(b.NextProbe)}
}

// Reset closes the circuit breaker of a cluster, for an administrator who knows
// that the batch system is back, and lets its loops try at once.
func (e *Engine) Reset(_ context.Context, caller wire.Caller, cluster string) error {
	if !caller.Admin {
		return jjm.Errorf(jjm.Denied, "reset %.40s: %s is no administrator: want root, the daemon's account, or one of gate.admins", cluster, caller.User)
	}
	c := e.clusters[cluster]
	if c == nil {
		return jjm.Errorf(jjm.Gone, "this site has no cluster %.40q: it has %s", cluster, strings.Join(e.names, ", "))
	}
	if i, ok := c.adapter.(ideal); ok {
		i.Reset()
	}
	e.log.Info("circuit breaker closed by hand", "cluster", cluster, "by", caller.User)
	kick(c.watchKick)
	kick(c.submitKick)
	kick(c.controlKick)
	return nil
}

// troubleOf says what of a grid job has been unknown for long. The memory lock
// is held, or g is our own.
func (e *Engine) troubleOf(g *grid) []string {
	if g.job.Status.Final() {
		return nil
	}
	var out []string
	if g.reads != nil {
		for _, i := range slices.Sorted(maps.Keys(g.reads.trouble)) {
			if text := g.reads.trouble[i]; text != "" {
				out = append(out, text)
			}
		}
	}
	for _, name := range e.names {
		if c := e.clusters[name]; slices.Contains(g.job.Step.Clusters, name) || g.on[name] != nil {
			out = append(append(out, c.outage()...), c.doubts(g.job.ID)...)
		}
	}
	return out
}
