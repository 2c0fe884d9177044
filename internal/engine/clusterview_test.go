package engine_test

import (
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
)

// A local job that may run on several clusters counts as waiting on each of them, and once in the total.
func TestWaiting_CountsALocalJobOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, pair(slots(2), slots(2)), func(t *testing.T, w *world) {
		for _, name := range []string{"sim", "big"} {
			w.give(wire.Order{Verb: "pause", Kind: "cluster", Name: name, Reason: "x"})
		}
		id := w.submit(alice, mc(12, `clusters = ["sim", "big"]`))
		w.pass(time.Minute)
		if n := w.engine.Waiting(); n != 12 {
			t.Errorf("%d wait, want 12", n)
		}
		for _, c := range w.engine.Clusters(t.Context(), admin) {
			if c.Waiting != 12 {
				t.Errorf("%s: %d may come here, want 12", c.Name, c.Waiting)
			}
			w.give(wire.Order{Verb: "resume", Kind: "cluster", Name: c.Name})
		}
		w.final(time.Hour, id)
		if n := w.engine.Waiting(); n != 0 {
			t.Errorf("%d wait when all is done", n)
		}
	})
}

func TestClusters_ReportTheirLimits(t *testing.T) {
	t.Parallel()
	config := engine.ClusterConfig{MaxRunning: 5, MaxRunningPerUser: 3, MaxPendingPerUser: 2}
	inWorld(t, limited(config), func(t *testing.T, w *world) {
		want := wire.Limits{MaxPending: engine.Defaults().MaxPending, MaxRunning: 5, MaxRunningPerUser: 3,
			MaxPendingPerUser: 2}
		got := w.engine.Clusters(t.Context(), admin)[0].Limits
		// ignore the limits that the simulation itself reports
		got.MaxCores, got.MaxMemoryMB, got.MaxWalltime, got.MaxQueued = 0, 0, jjm.Duration(0), 0
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}
