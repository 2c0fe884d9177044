package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// The owner pauses a grid job, which is then shown as suspended. Jobs that are submitted already run to their ends.
// Nothing more is submitted until the grid job is resumed, also after a restart.
func TestOrders_AGridJobIsPausedAndResumed(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Slots: 2, Life: time.Minute}, config: func(c *engine.Config) {
		c.MaxPending = 1
	}}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		w.running(id, 2)
		sent := w.sim.Calls().Submits
		pause := wire.Order{Verb: "pause", Kind: "job", Name: id.String(), Reason: "wrong cards?"}
		if _, err := w.order(bob, pause); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("by another user: %v", err)
		}
		if _, err := w.order(alice, pause); err != nil {
			t.Fatal(err)
		}
		beside := w.submit(alice, mc(1))
		w.final(time.Hour, beside)
		w.reopen()
		w.pass(time.Hour)
		l := w.lookup(id)
		if l.Status != "paused" || l.GRAM != jjm.GRAMSuspended || l.Counts.Completed < 2 || l.Counts.Completed == 6 ||
			strings.Count(l.Message, "job "+id.String()+" is paused by alice") != 1 ||
			!strings.Contains(l.Message, "wrong cards?") {
			t.Errorf("while paused: %+v", l)
		}
		// two more: one bulk may have been on its way, and one bulk belongs to the other grid job
		if n := w.sim.Calls().Submits; n > sent+2 {
			t.Errorf("%d submissions, and %d before the pause", n, sent)
		}
		w.sees(alice, 1)
		w.sees(bob, 0)
		if _, err := w.order(alice, wire.Order{Verb: "resume", Kind: "job", Name: id.String()}); err != nil {
			t.Fatal(err)
		}
		w.final(time.Hour, id)
		w.verify(id, done(6))
		if _, err := w.order(alice, pause); jjm.KindOf(err) != jjm.Conflict {
			t.Errorf("once it is over: %v", err)
		}
	})
}

// sees requires that a caller sees this number of orders in force.
func (w *world) sees(c wire.Caller, want int) {
	w.t.Helper()
	got, err := w.engine.Order(w.t.Context(), c, nil)
	w.must(err)
	if len(got) != want {
		w.t.Errorf("%s is told of the orders %v, want %d", c.User, got, want)
	}
}

// The owner cannot resume a grid job that an administrator paused. The owner can kill it, which removes the order.
func TestOrders_AnAdministratorsPauseOfAGridJobHolds(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Slots: 2}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		w.running(id, 2)
		w.give(wire.Order{Verb: "pause", Kind: "job", Name: id.String(), Reason: "eats the network"})
		for _, verb := range []string{"pause", "resume"} {
			_, err := w.order(alice, wire.Order{Verb: verb, Kind: "job", Name: id.String(), Reason: "mine"})
			if jjm.KindOf(err) != jjm.Denied || !strings.Contains(err.Error(), "eats the network") {
				t.Errorf("%s by its owner: %v", verb, err)
			}
		}
		w.kill(id.String())
		w.final(time.Hour, id)
		if l := w.lookup(id); l.Status != "aborted" {
			t.Errorf("killed while it was paused: %+v", l)
		}
		w.until(time.Minute, "the order is gone", func() bool {
			v, err := w.store.Orders(t.Context())
			return err == nil && len(v) == 0
		})
	})
}

// A pause ends at its time. A pause that ends before anything was submitted has no effect on the batch system.
func TestOrders_APauseOfAGridJobEndsByItself(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Slots: 2}}, func(t *testing.T, w *world) {
		w.give(wire.Order{Verb: "pause", Kind: "cluster", Name: "sim", Reason: "so that it waits"})
		id := w.submit(alice, mc(2))
		_, err := w.order(alice, wire.Order{Verb: "pause", Kind: "job", Name: id.String(), For: jjm.Duration(2 * time.Hour)})
		w.must(err)
		w.give(wire.Order{Verb: "resume", Kind: "cluster", Name: "sim"})
		w.pass(time.Hour)
		if l := w.lookup(id); l.Status != "paused" || l.GRAM != jjm.GRAMSuspended || w.sim.Calls().Submits != 0 {
			t.Errorf("while paused: %+v, %d submissions", l, w.sim.Calls().Submits)
		}
		w.final(3*time.Hour, id)
		w.verify(id, done(2))
	})
}

// queued returns two clusters with two queues each.
func queued(w *world) (all []engine.Cluster) {
	for _, a := range w.adapters() {
		all = append(all, engine.Cluster{Kind: "sim", Adapter: a, Queue: "short", Queues: []string{"short", "long"}})
	}
	return all
}

// An order about a queue concerns the grid jobs that name the queue. If the queue is the cluster's default, the order
// also concerns grid jobs that name no queue. Other grid jobs continue.
func TestOrders_AQueueIsPausedAndDrained(t *testing.T) {
	t.Parallel()
	o := options{sim: slots(4), more: []adaptertest.SimConfig{{Name: "big", Slots: 4}}, clusters: queued}
	inWorld(t, o, func(t *testing.T, w *world) {
		for _, name := range []string{"sim/lnog", "none/long", "long"} {
			_, err := w.order(admin, wire.Order{Verb: "pause", Kind: "queue", Name: name, Reason: "x"})
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "sim/long") {
				t.Errorf("queue %s: %v", name, err)
			}
		}
		w.give(wire.Order{Verb: "pause", Kind: "queue", Name: "sim/long", Reason: "new disks"})
		const long = "[request]\nqueue = \"long\""
		waits := w.submit(alice, mc(3, "cluster = \"sim\"", long))
		either := w.submit(alice, mc(3, "cluster = \"any\"", long))
		short := w.submit(alice, mc(3, "cluster = \"sim\""))
		w.final(time.Hour, either, short)
		if on := w.on(either); on["big"] != 3 {
			t.Errorf("where the queue is not paused: %v", on)
		}
		if l := w.lookup(waits); l.Status != "pending" || !strings.Contains(l.Message, "queue sim/long is paused by admin") {
			t.Errorf("while its queue is paused: %+v", l)
		}
		w.give(wire.Order{Verb: "resume", Kind: "queue", Name: "sim/long"})
		w.final(time.Hour, waits)
		w.verify(waits, done(3))

		w.give(wire.Order{Verb: "drain", Kind: "queue", Name: "sim/short", Reason: "goes away"})
		_, err := w.engine.Submit(t.Context(), alice, wire.Submit{Text: mc(1, "cluster = \"sim\""), BaseDir: "/"})
		if jjm.KindOf(err) != jjm.Denied ||
			!strings.HasPrefix(err.Error(), "no new grid jobs are accepted: queue sim/short is drained by admin") {
			t.Errorf("a new one for a drained queue: %v", err)
		}
		moved := w.submit(alice, mc(4, "cluster = \"any\""))
		w.final(time.Hour, moved)
		if on := w.on(moved); on["big"] != 4 {
			t.Errorf("of several clusters that whose queue is not drained is used: %v", on)
		}
		if got := w.engine.Clusters(t.Context(), admin); !slices.ContainsFunc(got, func(c wire.Cluster) bool {
			return c.Name == "sim" && len(c.Orders) == 1 && c.Orders[0].Name == "sim/short"
		}) {
			t.Errorf("the clusters do not tell of it: %+v", got)
		}
	})
}
