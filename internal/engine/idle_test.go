package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/engine"
)

// A cluster without jobs is listed from time to time. If its commands fail, it is shown as unhealthy; when it answers
// again, it is shown as healthy.
func TestIdle_AClusterWhoseListingsFailIsInTrouble(t *testing.T) {
	t.Parallel()
	inWorld(t, options{account: service}, func(t *testing.T, w *world) {
		w.pass(time.Minute)
		if c := w.site("sim"); !c.Healthy || c.LastSeen == 0 {
			t.Errorf("at first: healthy %v, last seen %v", c.Healthy, c.LastSeen)
		} else if c.Interval.D() != 5*time.Minute {
			t.Errorf("listed every %v while it is idle", c.Interval)
		}
		w.adapter.Down(20 * time.Minute)
		w.pass(10 * time.Minute)
		if c := w.site("sim"); c.Healthy || c.Cause == "" || c.Since == 0 {
			t.Errorf("without an answer: healthy %v, cause %q since %v", c.Healthy, c.Cause, c.Since)
		} else if c.Interval.D() != 30*time.Second {
			t.Errorf("listed every %v while it does not answer", c.Interval)
		}
		w.pass(12 * time.Minute)
		if c := w.site("sim"); !c.Healthy {
			t.Errorf("after the outage: %s", c.Cause)
		}
	})
}

// If jobs run as their owners, an idle cluster has no account whose jobs could be listed. Whether it is healthy then
// depends only on its probes.
func TestIdle_AClusterWhoseProbesFailIsInTrouble(t *testing.T) {
	t.Parallel()
	var p *probed
	clusters := func(w *world) []engine.Cluster {
		p = &probed{faulty: w.adapter}
		p.fail.Store(1000)
		p.bulk.Store(2)
		p.limit.Store(50)
		return []engine.Cluster{{Kind: "sim", Adapter: p}}
	}
	inWorld(t, options{clusters: clusters}, func(t *testing.T, w *world) {
		w.pass(time.Minute)
		if c := w.site("sim"); c.Healthy || !strings.Contains(c.Cause, "no answer") || c.Since == 0 {
			t.Errorf("idle: healthy %v, cause %q since %v", c.Healthy, c.Cause, c.Since)
		} else if c.Interval != 0 {
			t.Errorf("listed every %v while it is idle", c.Interval)
		}
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		w.pass(time.Minute)
		if c := w.site("sim"); !c.Healthy || len(c.Trouble) == 0 {
			t.Errorf("with listings: healthy %v, trouble %q", c.Healthy, c.Trouble)
		} else if every := c.Interval.D(); every <= 0 || every >= 5*time.Minute {
			t.Errorf("listed every %v with jobs", every)
		}
	})
}

// mute is a batch system whose probe always succeeds and reports nothing. A site-defined batch system without a probe
// command behaves in this way.
type mute struct{ *faulty }

func (mute) Probe(context.Context) error { return nil }

func (m mute) Capabilities() adapters.Capabilities {
	caps := m.faulty.Capabilities()
	caps.Slots = 0
	return caps
}

// A cluster is idle, and its probe reports nothing. When its commands fail, it is shown as unhealthy immediately.
func TestIdle_AClusterWhoseCommandsFailIsInTroubleWithoutAProbe(t *testing.T) {
	t.Parallel()
	clusters := func(w *world) []engine.Cluster { return []engine.Cluster{{Kind: "sim", Adapter: mute{w.adapter}}} }
	inWorld(t, options{clusters: clusters}, func(t *testing.T, w *world) {
		w.pass(time.Minute)
		if c := w.site("sim"); !c.Healthy || c.LastSeen != 0 {
			t.Errorf("before it was asked anything: healthy %v: %s", c.Healthy, c.Cause)
		}
		w.adapter.Down(20 * time.Minute)
		id := w.submit(alice, mc(2))
		w.pass(time.Minute)
		if c := w.site("sim"); c.Healthy || c.Cause == "" || c.Since == 0 {
			t.Errorf("without an answer: healthy %v, cause %q since %v", c.Healthy, c.Cause, c.Since)
		}
		w.final(3*time.Hour, id)
		if c := w.site("sim"); !c.Healthy || c.LastSeen == 0 {
			t.Errorf("after the outage: healthy %v: %s", c.Healthy, c.Cause)
		}
	})
}
