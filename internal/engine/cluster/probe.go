package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/jjm"
)

// probeEvery is the time between two probes of a batch system's limits, which only its administrator changes.
// probeAgain is the time between two probes while the batch system does not answer, because only the safest limits are
// assumed until it answers. An idle cluster is listed at the same intervals, to learn whether it answers.
const (
	probeEvery = 5 * time.Minute
	probeAgain = 30 * time.Second
)

// probeLoop probes the batch system repeatedly, to learn changes of its limits.
func (c *Cluster) probeLoop(ctx context.Context, p adapters.Prober) {
	for ctx.Err() == nil {
		wait := probeEvery
		if !c.probe(ctx, p) {
			wait = probeAgain
		}
		fair.Pause(ctx, wait)
	}
}

// probe probes once and returns true if the probe succeeded. It wakes the submit loop, because the limits may have
// changed.
func (c *Cluster) probe(ctx context.Context, p adapters.Prober) bool {
	cmd, cancel := context.WithTimeout(ctx, patience*c.deadline())
	defer cancel()
	defer c.probed.Do(func() { close(c.ready) })
	if err := p.Probe(cmd); err != nil {
		if ctx.Err() == nil {
			c.notProbed(err)
		}
		return false
	}
	c.b.Over("probe/" + c.name)
	c.unprobed.Store(nil)
	c.submitter.wakeSubmit()
	return true
}

// notProbed logs that a probe failed, and keeps the failure for administrators to see.
func (c *Cluster) notProbed(err error) {
	c.b.Complain(slog.LevelWarn, "probe/"+c.name, "batch system could not be probed for its limits", "cluster", c.name,
		"error", err)
	if c.unprobed.Load() == nil {
		c.unprobed.Store(&unprobed{since: jjm.At(c.b.Now()), cause: err.Error()})
	}
}

// unprobed is an outage of probes: since when they have failed, and why the first of them failed.
type unprobed struct {
	since jjm.Time
	cause string
}

// tell adds the outage to w. A cluster that has answered no listing since the outage began is not
// healthy: nothing shows that its commands work.
func (u *unprobed) tell(w *wire.Cluster) {
	if w.Healthy && w.LastSeen < u.since {
		w.Healthy, w.Since, w.Cause = false, u.since, u.cause
	}
	w.Trouble = append(w.Trouble, fmt.Sprintf("%s could not be probed for its limits since %s: %s", w.Name, u.since.Local(),
		u.cause))
}

// awaitProbe waits for the first probe to succeed or fail. A probe has a deadline, so a
// frozen batch system does not stop submission forever.
func (c *Cluster) awaitProbe(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-c.ready:
	}
}
