package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
)

func TestClusterFacts_ToldIsOnlyWhatIsKnown(t *testing.T) {
	well := wire.Cluster{Name: "farm", Kind: "slurm", Healthy: true, Slots: 16, Queued: 2, Running: 0, Waiting: 5,
		LastSeen: 9}
	known := advertise.Cluster{Name: "farm", Kind: "slurm", Health: advertise.Answering, Waiting: 5, LastSeen: 9,
		Slots: advertise.Known(16), Queued: advertise.Known(2), Running: advertise.Known(0)}
	unknown := advertise.Cluster{Name: "farm", Kind: "slurm", Waiting: 5}
	for name, c := range map[string]struct {
		change func(*wire.Cluster)
		want   func(*advertise.Cluster)
		from   advertise.Cluster
	}{
		"well": {func(*wire.Cluster) {}, func(*advertise.Cluster) {}, known},
		"slots not known": {func(w *wire.Cluster) {
			w.Slots = 0
		}, func(c *advertise.Cluster) { c.Slots = advertise.Count{} }, known},
		"never asked": {func(w *wire.Cluster) { w.Slots, w.LastSeen = 0, 0 }, func(*advertise.Cluster) {}, unknown},
		"no listing": {func(w *wire.Cluster) { w.Healthy, w.Cause = false, "timed out" },
			func(c *advertise.Cluster) { c.Health, c.Reason, c.LastSeen = advertise.NotAnswering, "timed out", 9 }, unknown},
		"breaker": {func(w *wire.Cluster) { w.Breaker = &wire.Breaker{State: "open", Cause: "down"} },
			func(c *advertise.Cluster) { c.Health, c.Reason, c.LastSeen = advertise.NotAnswering, "down", 9 }, unknown},
		"ordered": {func(w *wire.Cluster) {
			w.Orders = []jjm.Order{{Kind: jjm.OrderCluster, Verb: jjm.OrderDrain, Reason: "a"},
				{Kind: jjm.OrderCluster, Verb: jjm.OrderPause, Reason: "b"}}
		}, func(c *advertise.Cluster) { c.Drained, c.Paused, c.Reason = true, true, "b" }, known},
		"a maintenance window to come": {func(w *wire.Cluster) {
			w.Orders = []jjm.Order{{Kind: jjm.OrderCluster, Verb: jjm.OrderMaintenance, Reason: "a", From: 101, Until: 200}}
		}, func(*advertise.Cluster) {}, known},
		"a maintenance window": {func(w *wire.Cluster) {
			w.Orders = []jjm.Order{{Kind: jjm.OrderCluster, Verb: jjm.OrderMaintenance, Reason: "a", From: 100, Until: 200}}
		}, func(c *advertise.Cluster) { c.Paused, c.Reason = true, "a" }, known},
		"limits": {func(w *wire.Cluster) {
			w.Limits = wire.Limits{MaxCores: 1, MaxMemoryMB: 2, MaxWalltime: jjm.Duration(3e9), MaxQueued: 4, MaxPending: 5,
				MaxRunning: 6, MaxPendingPerUser: 7, MaxRunningPerUser: 8}
		}, func(c *advertise.Cluster) {
			c.Limits = advertise.Limits{MaxCores: 1, MaxMemoryMB: 2, MaxWallTime: 3, MaxQueued: 4, MaxPending: 5, MaxRunning: 6,
				MaxPendingPerUser: 7, MaxRunningPerUser: 8}
		}, known},
	} {
		w, want := well, c.from
		c.change(&w)
		c.want(&want)
		if d := cmp.Diff(want, clusterFacts(w, nil, 100), cmp.AllowUnexported(advertise.Count{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestQueues_AreThoseThatTheConfigurationNames(t *testing.T) {
	for name, c := range map[string]struct {
		section map[string]any
		first   string
		all     []string
	}{
		"none":    {map[string]any{"name": "x"}, "", nil},
		"one":     {map[string]any{"queue": "long"}, "long", []string{"long"}},
		"table":   {map[string]any{"queue": "b", "queues": map[string]any{"b": "x", "a": "y"}}, "b", []string{"a", "b"}},
		"list":    {map[string]any{"queues": []any{"b", "a"}}, "", []string{"b", "a"}},
		"rubbish": {map[string]any{"queue": 7, "queues": 3}, "", nil},
	} {
		first, all := queues(c.section)
		if first != c.first || !cmp.Equal(all, c.all) {
			t.Errorf("%s: %q, %q", name, first, all)
		}
	}
}
