package cluster

import (
	"context"
	"slices"
	"strings"

	"jjm"
	"jjm/adapters"
	"jjm/adapters/idealize"
	"jjm/engine/state"
	"jjm/wire"
)

// ideal is an adapter behind an idealizer.
type ideal interface {
	Status() idealize.Status
	Reset()
}

// view is how people see the cluster, but for the jobs.
func (c *Cluster) view(mem state.Memory) wire.Cluster {
	caps, polling := c.caps(), c.polling()
	w := wire.Cluster{Name: c.name, Kind: c.kind, Guarantee: caps.Guarantee, Slots: caps.Slots,
		Storages: c.config.Storages, Limits: c.limits(caps),
		Trouble: append(c.health.outage(), c.health.doubts(mem, 0)...)}
	c.health.tellHealth(&w)
	if text := c.unprobed.Load(); text != nil {
		w.Trouble = append(w.Trouble, *text)
	}
	took := c.watcher.pace()
	w.Listing, w.Interval = jjm.Duration(took), jjm.Duration(polling.Every(took))
	if i, ok := c.adapter.(ideal); ok {
		s := i.Status()
		w.Commands, w.Ceiling = s.Used, s.Ceiling
		w.Breaker, w.Accounting = breakerView(s.Breaker), breakerView(s.Accounting)
	}
	return w
}

// View is how people see a cluster, but for the jobs.
func (cs *Clusters) View(mem state.Memory, name string) wire.Cluster { return cs.all[name].view(mem) }

// limits are the bounds of jobs here: the batch system's and the configuration's.
func (c *Cluster) limits(caps adapters.Capabilities) wire.Limits {
	pending := c.config.MaxPending
	if pending == 0 {
		pending = c.b.Conf().MaxPending
	}
	return wire.Limits{
		MaxCores: caps.MaxCores, MaxMemoryMB: caps.MaxMemoryMB, MaxWalltime: jjm.Duration(caps.MaxWalltime),
		MaxQueued:  caps.MaxQueued,
		MaxPending: pending, MaxRunning: c.config.MaxRunning,
		MaxPendingPerUser: c.config.MaxPendingPerUser, MaxRunningPerUser: c.config.MaxRunningPerUser,
	}
}

// Waiting counts the local jobs that no batch system has got yet, each once:
// those that may go to several clusters, too.
func (cs *Clusters) Waiting() int {
	v := cs.s.View()
	defer v.Close()
	n := 0
	for _, g := range v.Grids() {
		if g.Job.Status.Final() {
			continue
		}
		n += g.Unsent()
		for _, t := range g.On {
			n += t.Counts[jjm.Submitting] - t.Retrying
		}
	}
	return n
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
func (cs *Clusters) Reset(_ context.Context, caller wire.Caller, cluster string) error {
	if !caller.Admin {
		return jjm.Errorf(
			jjm.Denied, "reset %.40s: %s is no administrator: want root or one of gate.admins (with gate.mode 0600 the daemon's account too)", cluster, caller.User)
	}
	c := cs.all[cluster]
	if c == nil {
		return jjm.Errorf(jjm.Gone, "this site has no cluster %.40q: it has %s", cluster, strings.Join(cs.s.Names, ", "))
	}
	if i, ok := c.adapter.(ideal); ok {
		i.Reset()
	}
	cs.b.Log.Info("circuit breaker closed by hand", "cluster", cluster, "by", caller.Actor())
	c.watcher.wakeWatch()
	c.submitter.wakeSubmit()
	c.controller.wakeControl()
	return nil
}

// TroubleOf says what of a grid job has been unknown for long.
func (cs *Clusters) TroubleOf(mem state.Memory, g *state.Grid) []string {
	if g.Job.Status.Final() {
		return nil
	}
	var out []string
	if g.Reads != nil {
		out = append(out, g.Reads.Troubles()...)
	}
	for _, name := range cs.s.Names {
		if c := cs.all[name]; slices.Contains(g.Job.Step.Clusters, name) || g.On[name] != nil {
			out = append(append(out, c.health.outage()...), c.health.doubts(mem, g.Job.ID)...)
		}
	}
	return out
}
