package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// waitsForLimit requires that a grid job, and its waiting local jobs, name the limit as the reason, for the owner and
// for administrators.
func (w *world) waitsForLimit(id jjm.GridID, limit string) {
	w.t.Helper()
	for _, caller := range []wire.Caller{admin, alice} {
		all, err := w.engine.Status(context.Background(), caller, []jjm.Ref{{Grid: id}, {Grid: id, Locals: true, Last: -1}})
		w.must(err)
		if all[0].WaitsFor != limit {
			w.t.Errorf("grid job %s waits for %q, want %q", id, all[0].WaitsFor, limit)
		}
		for _, l := range all[1].Locals {
			if l.State == jjm.New && (l.Waits == nil || l.Waits.Reason != limit) {
				w.t.Errorf("%s waits for %+v, want %q", l.ID, l.Waits, limit)
			}
		}
	}
	if n := w.lookup(id).Counts.New; n == 0 {
		w.t.Errorf("nothing of grid job %s waits", id)
	}
}

// If a limit of the configuration is reached, the reason to wait contains the name of its setting.
func TestLimits_AreToldAsTheReasonToWait(t *testing.T) {
	t.Parallel()
	for limit, o := range map[string]options{
		"max_running_per_user of cluster sim (1 of 1)": {
			configs: map[string]engine.ClusterConfig{"sim": {MaxRunningPerUser: 1}}},
		"max_running of cluster sim (1 of 1)": {configs: map[string]engine.ClusterConfig{"sim": {MaxRunning: 1}}},
		"max_pending of cluster sim (1 of 1)": {configs: map[string]engine.ClusterConfig{"sim": {MaxPending: 1}}},
		"max_pending_per_user of cluster sim (2 of 2)": {
			configs: map[string]engine.ClusterConfig{"sim": {MaxPendingPerUser: 2}}},
		"engine.max_pending, which counts for cluster sim (3 of 3)": {
			config: func(c *engine.Config) { c.MaxPending = 3 }},
	} {
		t.Run(strings.Fields(limit)[0], func(t *testing.T) {
			t.Parallel()
			o.sim = adaptertest.SimConfig{Slots: 1, Life: 10 * time.Minute}
			inWorld(t, o, func(t *testing.T, w *world) {
				id := w.submit(alice, mc(6))
				w.running(id, 1)
				w.pass(time.Minute)
				w.waitsForLimit(id, limit)
				next := w.submit(alice, mc(2))
				w.pass(time.Minute)
				w.waitsForLimit(next, limit)
				w.final(4*time.Hour, id, next)
				if s := w.status(id); s.WaitsFor != "" {
					t.Errorf("a grid job that ended waits for %q", s.WaitsFor)
				}
			})
		})
	}
}

// Local jobs of a grid job wait in the batch system while others run. The grid job's message shows the reason that the
// batch system reports.
func TestWaits_OfAGridJobAreTheBatchSystems(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Slots: 1, Life: time.Hour}}, func(t *testing.T, w *world) {
		first := w.submit(alice, mc(1))
		w.running(first, 1)
		w.adapter.onList.set(func(l *adapters.Listing) {
			for i := range l.Reports {
				if l.Reports[i].State == jjm.BatchQueued {
					l.Reports[i].Reason = "waiting for a slot"
				}
			}
		})
		next := w.submit(alice, mc(3))
		w.pass(2 * time.Minute)
		if got, want := w.status(next).WaitsFor, "waiting for a slot (3 of 3 local jobs)"; got != want {
			t.Errorf("waits for %q, want %q", got, want)
		}
		if got := w.status(first).WaitsFor; got != "" {
			t.Errorf("one that runs waits for %q", got)
		}
		w.final(time.Hour, first)
		w.running(next, 1)
		w.pass(time.Minute)
		if got, want := w.status(next).WaitsFor, "waiting for a slot (2 of 3 local jobs)"; got != want {
			t.Errorf("while one runs, it waits for %q, want %q", got, want)
		}
		w.final(24*time.Hour, next)
	})
}
