package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
	"jjm/internal/testkit/adaptertest"
)

// lasting is the part of a job file that requests a walltime.
func lasting(walltime string) string { return fmt.Sprintf("[request]\nwalltime = %q", walltime) }

// announce announces a maintenance window of the simulated cluster. from and until are measured from now.
func (w *world) announce(from, until time.Duration) jjm.Order {
	w.t.Helper()
	now := jjm.At(w.now())
	return w.give(wire.Order{Verb: "drain", Kind: "cluster", Name: "sim", Reason: "new disks", From: now.Add(from),
		Until: now.Add(until)})[0]
}

// waitsFor requires that a grid job is pending with the given reasons in its message, and that none of its local jobs
// was submitted.
func (w *world) waitsFor(id jjm.GridID, why ...string) {
	w.t.Helper()
	l := w.lookup(id)
	rows := w.locals(id)
	for _, text := range why {
		if l.Status != "pending" || !strings.Contains(l.Message, text) {
			w.t.Errorf("grid job %s is %s: %q, want %q", id, l.Status, l.Message, text)
		}
		for _, r := range rows {
			if r.Waits == nil || !strings.Contains(r.Waits.Reason, text) {
				w.t.Errorf("%s waits for %+v, want %q", r.ID, r.Waits, text)
			}
		}
	}
	if l.Counts.New != l.Counts.Total || l.Counts.Total == 0 {
		w.t.Errorf("grid job %s: %+v, want all local jobs to wait", id, l.Counts)
	}
}

// A maintenance window is announced. Grid jobs are still accepted. Local jobs that would not end before the window wait
// and show the reason, also after a restart. Shorter local jobs and running local jobs continue. After the window all
// local jobs continue.
func TestWindow_LocalJobsThatWouldNotEndBeforeItWait(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Slots: 20, Life: 30 * time.Minute}}
	inWorld(t, o, func(t *testing.T, w *world) {
		runs := w.submit(alice, mc(2, lasting("12h")))
		w.running(runs, 2)
		window := w.announce(10*time.Hour, 14*time.Hour)
		if window.Verb != jjm.OrderMaintenance || window.By != admin.Actor() {
			t.Errorf("announced: %+v", window)
		}
		long, short := w.submit(alice, mc(2, lasting("12h"))), w.submit(alice, mc(2, lasting("2h")))
		silent := w.submit(alice, mc(2))
		w.final(time.Hour, runs, short)
		when := "cluster sim has a maintenance window from " + window.From.Local() + " until " + window.Until.Local()
		w.waitsFor(long, when+": 12 h requested would not end before it", "new disks")
		w.waitsFor(silent, "no walltime is requested and the cluster tells no default")
		for _, id := range []jjm.GridID{long, silent} {
			want := "jjm set " + id.String() + " --walltime TIME, if it needs no longer than until then"
			if got := w.why(id).Causes[0]; got.Code != string(why.Maintenance) || got.Remedy != want {
				t.Errorf("the cause of grid job %s is %+v: want the remedy %q", id, got, want)
			}
		}
		w.sees(alice, 1)
		w.reopen()
		w.pass(time.Minute)
		w.waitsFor(long, when)

		w.until(14*time.Hour, "the window", func() bool { return window.Begun(jjm.At(w.now())) })
		sent := w.sim.Calls().Submits
		late := w.submit(alice, mc(1, lasting("1s")))
		w.pass(2 * time.Minute)
		for _, id := range []jjm.GridID{long, silent, late} {
			w.waitsFor(id, "nothing is submitted until it is over")
		}
		if n := w.sim.Calls().Submits; n != sent {
			t.Errorf("%d submissions within the window", n-sent)
		}
		w.final(6*time.Hour, long, silent, late)
		for _, id := range []jjm.GridID{long, silent} {
			w.verify(id, done(2))
		}
		w.sees(alice, 0)
		history, err := w.engine.History(t.Context(), admin, jjm.Ref{}, 10)
		w.must(err)
		if len(history) != 2 || history[0].To != "in maintenance" || history[1].To != "resumed" ||
			!strings.Contains(history[0].Cause, "cluster sim: new disks (from "+window.From.Local()) {
			t.Errorf("the history of orders: %+v", history)
		}
	})
}

// A grid job waits for room on a cluster while a maintenance window comes nearer. The grid job's message names the
// window as soon as its local jobs no longer fit before the window.
func TestWindow_ComesNearerWhileAGridJobWaits(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Slots: 1, Life: 3 * time.Hour},
		config: func(c *engine.Config) { c.MaxPending = 1 }}
	inWorld(t, o, func(t *testing.T, w *world) {
		first := w.submit(alice, mc(2))
		w.running(first, 1)
		w.announce(5*time.Hour, 6*time.Hour)
		next := w.submit(alice, mc(1, lasting("4h")))
		w.pass(10 * time.Minute)
		if l := w.lookup(next); strings.Contains(l.Message, "maintenance") {
			t.Errorf("while it would fit: %q", l.Message)
		}
		w.pass(55 * time.Minute)
		w.waitsFor(next, "4 h requested would not end before it")
		w.final(24*time.Hour, first, next)
		w.verify(next, done(1))
	})
}

// Before a maintenance window, local jobs go to another cluster if possible. A window of a queue concerns only that
// queue. If a job file requests no walltime, the cluster's default walltime counts. An administrator can end a window
// early.
func TestWindow_OfAQueueAndOfOneOfSeveralClusters(t *testing.T) {
	t.Parallel()
	o := options{sim: slots(4), more: []adaptertest.SimConfig{{Name: "big", Slots: 4}}}
	o.clusters = func(w *world) []engine.Cluster {
		all := queued(w)
		all[0].Config.DefaultWalltime = jjm.Duration(time.Hour)
		return all
	}
	inWorld(t, o, func(t *testing.T, w *world) {
		w.announce(2*time.Hour, 100*time.Hour)
		moves := w.submit(alice, mc(3, "cluster = \"any\"", lasting("3h")))
		usual := w.submit(alice, mc(3, "cluster = \"sim\""))
		w.final(time.Hour, moves, usual)
		if on := w.on(moves); on["big"] != 3 {
			t.Errorf("on the cluster without a window: %v", on)
		}
		w.give(wire.Order{Verb: "resume", Kind: "cluster", Name: "sim"})
		w.give(wire.Order{Verb: "drain", Kind: "queue", Name: "sim/long", Reason: "x", From: jjm.At(w.now()),
			For: jjm.Duration(90 * time.Hour)})
		const long = "[request]\nwalltime = \"1h\"\nqueue = \"long\""
		shut, open := w.submit(alice, mc(1, "cluster = \"sim\"", long)), w.submit(alice, mc(1, "cluster = \"sim\""))
		w.final(time.Hour, open)
		w.waitsFor(shut, "queue sim/long has a maintenance window", "nothing is submitted")
		w.give(wire.Order{Verb: "resume", Kind: "queue", Name: "sim/long"})
		w.final(time.Hour, shut)
		w.verify(shut, done(1))
	})
}

// The engine's clock is set during the announcement of a maintenance window. The window begins and ends by the new
// time.
func TestWindow_FollowsAClockThatIsSet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by   time.Duration
		ends time.Duration // time until the grid job is over; 0 if it waits
	}{
		"forward over the window": {20 * time.Hour, time.Hour},
		"back, so that it fits":   {-20 * time.Hour, time.Hour},
		"forward into the window": {11 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{sim: slots(4)}, func(t *testing.T, w *world) {
				w.announce(10*time.Hour, 14*time.Hour)
				id := w.submit(alice, mc(1, lasting("12h")))
				w.pass(time.Hour / 2)
				w.waitsFor(id, "12 h requested")
				w.setSkew(c.by)
				if c.ends > 0 {
					w.final(c.ends, id)
					return
				}
				w.pass(2 * time.Minute)
				w.waitsFor(id, "nothing is submitted until it is over")
				w.final(5*time.Hour, id)
			})
		})
	}
}

func TestWindow_RefusesInvalidOnes(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: slots(1)}, func(t *testing.T, w *world) {
		now := jjm.At(w.now())
		o := wire.Order{Verb: "drain", Kind: "cluster", Name: "sim", Reason: "x", From: now.Add(-2 * time.Hour),
			Until: now - 1}
		if _, err := w.order(admin, o); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(),
			"that time is past") {
			t.Errorf("one that is over: %v", err)
		}
		o.Until = now.Add(time.Hour)
		if _, err := w.order(alice, o); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("by a user: %v", err)
		}
		first, second := w.announce(time.Hour, 2*time.Hour), w.announce(3*time.Hour, 4*time.Hour)
		again := w.give(wire.Order{Verb: "drain", Kind: "cluster", Name: "sim", Reason: "longer", From: second.From,
			For: jjm.Duration(3 * time.Hour)})[0]
		w.reopen()
		got, err := w.engine.Order(t.Context(), admin, nil)
		w.must(err)
		if len(got) != 2 || got[0] != first || got[1] != again || again.Until != second.From.Add(3*time.Hour) {
			t.Errorf("in force: %+v", got)
		}
		if ended := w.give(wire.Order{Verb: "resume", Kind: "cluster", Name: "sim"}); len(ended) != 2 {
			t.Errorf("resumed: %+v", ended)
		}
	})
}
