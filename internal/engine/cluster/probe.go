package cluster

import (
	"context"
	"fmt"
	"log/slog"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/jjm"
)

// probeLoop probes the batch system again and again, to learn changes of its limits.
func (c *Cluster) probeLoop(ctx context.Context, p adapters.Prober) {
	for ctx.Err() == nil {
		wait := system.ProbeEvery
		if !c.probe(ctx, p) {
			wait = system.ProbeAgain
		}
		fair.WaitKick(ctx, c.reprobe, wait)
	}
}

// probe probes the batch system once and reports whether the probe succeeded. After a success it wakes the submit loop,
// because the limits may have changed. It also ends the wait of awaitProbe.
func (c *Cluster) probe(ctx context.Context, p adapters.Prober) bool {
	cmd, cancel := context.WithTimeout(ctx, c.CallTime())
	defer cancel()
	defer c.probed.Do(func() { close(c.ready) })
	if err := p.Probe(cmd); err != nil {
		if ctx.Err() == nil {
			c.notProbed(err)
		}
		return false
	}
	c.b.Over("probe/" + c.Name)
	c.unprobed.Store(nil)
	c.submitter.Wake()
	return true
}

// answersAgain settles the submissions in doubt after an outage. If the last probe failed, it also makes the probe loop
// probe immediately, so that the failure is not shown for long beside a cluster that answers.
func (c *Cluster) answersAgain() {
	c.submitter.SettleNow()
	if c.unprobed.Load() != nil {
		fair.Kick(c.reprobe)
	}
}

// notProbed logs that a probe failed, and stores the failure so that view shows it.
func (c *Cluster) notProbed(err error) {
	c.b.Complain(slog.LevelWarn, "probe/"+c.Name, "batch system could not be probed for its limits", "cluster", c.Name,
		"error", err)
	now := jjm.At(c.b.Now())
	next := unprobed{since: now, last: now, cause: err.Error()}
	if u := c.unprobed.Load(); u != nil {
		next.since, next.cause = u.since, u.cause
	}
	c.unprobed.Store(&next)
}

// unprobed is an outage of probes: since when probes have failed, when the last of them failed, and why the first of
// them failed.
type unprobed struct {
	since, last jjm.Time
	cause       string
}

// tell adds the outage to w. If the cluster has answered no listing since the outage began, nothing shows that its
// commands work, so tell also marks the cluster as not healthy.
func (u *unprobed) tell(w *wire.Cluster) {
	if w.Healthy && w.LastSeen < u.since {
		w.Healthy, w.Since, w.Cause = false, u.since, u.cause
	}
	w.Trouble = append(w.Trouble, fmt.Sprintf("%s could not be probed for its limits since %s, last tried %s: %s", w.Name,
		u.since.Local(), u.last.Local(), u.cause))
}

// awaitProbe waits until the first probe has succeeded or failed. It cannot wait forever on a batch system that does
// not respond, because a probe has a deadline.
func (c *Cluster) awaitProbe(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-c.ready:
	}
}
