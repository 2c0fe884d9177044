package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/fair"
)

// How often a batch system is asked for its limits: they change when its admin
// changes them. While it does not answer it is asked more often, for until it
// did only the safest limits are known.
const (
	probeEvery = 5 * time.Minute
	probeAgain = 30 * time.Second
)

// probeLoop keeps what the adapter knows of its batch system fresh.
func (c *Cluster) probeLoop(ctx context.Context, p adapters.Prober) {
	for ctx.Err() == nil {
		wait := probeEvery
		if !c.probe(ctx, p) {
			wait = probeAgain
		}
		fair.Pause(ctx, wait)
	}
}

// probe asks once, and reports whether there was an answer. With it more may be
// submitted, or at last something.
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

// notProbed lets administrators see at once that a probe came to nothing.
func (c *Cluster) notProbed(err error) {
	c.b.Complain(slog.LevelWarn, "probe/"+c.name, "batch system does not tell its limits", "cluster", c.name, "error", err)
	if c.unprobed.Load() == nil {
		text := fmt.Sprintf("%s has not told its limits since %s: %v", c.name, jjm.At(c.b.Now()), err)
		c.unprobed.Store(&text)
	}
}

// awaitProbe waits for the first probe to come to something, if only to an
// error: a daemon that starts beside a frozen batch system works all the same.
func (c *Cluster) awaitProbe(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-c.ready:
	}
}
