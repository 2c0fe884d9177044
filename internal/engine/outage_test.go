package engine_test

import (
	"slices"
	"testing"
	"time"

	"jjm/adapters/idealize"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
	"jjm/internal/testkit/adaptertest"
)

// A missing job counts as lost only after listings lacked it for ten minutes. The test has a listing without the jobs,
// then an outage, then a few more such listings. The time of the outage does not count.
func TestOutage_DoesNotCountAsAbsence(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 2 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4))
		w.running(id, 4)
		for range 3 {
			w.sim.Lie(1, nil)
			w.pass(15 * time.Second) // one listing without the jobs
			w.sim.Lie(6, nil)
			w.sim.Down(11 * time.Minute)
			w.pass(14 * time.Minute) // the listings without jobs came after the outage
		}
		w.final(4*time.Hour, id)
		for _, l := range w.locals(id) {
			if l.State != jjm.Completed || l.Attempt != 0 {
				t.Errorf("local job %s is %s with attempt %d: it lived all the time", l.ID, l.State, l.Attempt)
			}
		}
		w.verify(id, done(4))
		w.verifyQuiet()
	})
}

// A missing job is found to be lost even if the batch system never works for more than a few minutes at a time.
func TestOutage_DoesNotHideALossForEver(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 30 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(2))
		w.running(id, 2)
		w.sim.Vanish(w.refs(id, 1)...)
		for range 8 {
			w.sim.Down(20 * time.Minute)
			w.pass(23 * time.Minute)
		}
		if l := w.locals(id)[1]; l.State != jjm.Failed || l.Phase != jjm.ByLoss {
			t.Errorf("%s/%s after more than ten minutes of good listings in all", l.State, l.Phase)
		}
		w.kill(id.String())
		w.final(time.Hour, id)
	})
}

// It is in doubt whether a bulk was submitted. After an outage, the engine searches for the bulk as soon as there are
// listings again, and submits it if it does not exist, even if its back-off is longer.
func TestOutage_ADoubtfulBulkIsCheckedRightAfterIt(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]adaptertest.Fault{
		"lost replies": adaptertest.LoseReply, "lost requests": adaptertest.LoseRequest, "busy": adaptertest.SayBusy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := adaptertest.SimConfig{Life: 10 * time.Hour, Settle: time.Minute}
			inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
				first := w.submit(alice, mc(1)) // without a running job there would be no listings
				w.running(first, 1)
				tries := slices.Repeat([]adaptertest.Fault{adaptertest.SayBusy}, 9)
				w.sim.OnSubmit(append(tries, fault)...)
				before := w.sim.Calls().Submits
				id := w.submit(alice, mc(4))
				w.until(time.Hour, "tried often", func() bool { return w.sim.Calls().Submits == before+10 })
				w.sim.Down(11 * time.Minute)
				w.pass(11*time.Minute + 25*time.Second) // two listings
				if n := w.lookup(id).Counts.Running; n != 4 {
					t.Errorf("%d of 4 run soon after the outage\n%s", n, w.describe(id))
				}
				w.kill(first.String())
				w.kill(id.String())
				w.final(time.Hour, first, id)
			})
		})
	}
}

// A bulk whose submission failed before any command ran needs no search after the outage. After a restart each bulk is
// searched for until the batch system answers once; during the outage the circuit breaker bounds the searches.
func TestOutage_ABulkThatReachedNoCommandIsNotLookedFor(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"one daemon": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c *counting
			clusters := func(w *world) []engine.Cluster {
				c = &counting{faulty: w.adapter}
				config := engine.Defaults().ClusterDefaults().Config
				return []engine.Cluster{{Kind: "sim", Adapter: idealize.Wrap(c, config, idealize.Deps{})}}
			}
			const mostSearches = 20
			sim := adaptertest.SimConfig{Life: 10 * time.Hour, Settle: time.Minute}
			inWorld(t, options{sim: sim, clusters: clusters}, func(t *testing.T, w *world) {
				first := w.submit(alice, mc(1)) // without a running job there would be no listings
				w.running(first, 1)
				w.sim.Down(30 * time.Minute)
				w.until(20*time.Minute, "the breaker opened", func() bool { return w.site("sim").Breaker != nil })
				submits := w.sim.Calls().Submits
				ids := []jjm.GridID{w.submit(alice, mc(2))}
				w.pass(time.Second) // a pause, so that each grid job has a separate bulk
				ids = append(ids, w.submit(alice, mc(3)))
				w.pass(5 * time.Minute)
				if n := w.sim.Calls().Submits; n != submits {
					t.Fatalf("%d submissions reached the batch system while the breaker was open", n-submits)
				}
				if restart { // a new daemon does not know which bulks reached no command
					w.reopen()
				}
				c.finds.Store(0)
				c.answered.Store(0)
				w.until(time.Hour, "they run", func() bool {
					return w.lookup(ids[0]).Counts.Running == 2 && w.lookup(ids[1]).Counts.Running == 3
				})
				n, answered := c.finds.Load(), c.answered.Load()
				t.Logf("%d searches, %d answered", n, answered)
				if !restart && n != 0 || restart && (answered != 2 || n > mostSearches) {
					t.Errorf("%d searches, %d answered; want none, or after a restart one answer for each bulk", n, answered)
				}
				if n := w.sim.Calls().Bulks; n != 3 {
					t.Errorf("%d bulks, want 3", n)
				}
				w.kill(first.String())
				for _, id := range ids {
					w.kill(id.String())
				}
				w.final(time.Hour, append(ids, first)...)
			})
		})
	}
}

// During an outage, jjm clusters, jjm health and jjm why advise the same: the command that shows whether the batch
// system runs, and how jjm goes on. The advice is gone after the outage.
func TestOutage_EveryAnswerAdvisesTheSame(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
		runs := w.submit(alice, mc(2))
		w.running(runs, 2)
		w.sim.Down(2 * time.Hour)
		w.causes(runs, why.Unknown, 2, "cluster sim answers no listing, and the local job goes on meanwhile: ")
		waits := w.submit(alice, mc(3))
		want := w.sim.Diagnosis() + " shows whether the batch system of cluster sim runs; jjm goes on by itself once it " +
			"answers, or at once after jjm clusters reset sim"
		s := w.detail(runs, 0).Silent
		if c := w.site("sim"); s == nil || s.AsOf == 0 || s.AsOf != c.LastSeen || s.Since != c.Since {
			t.Errorf("the status of a running local job has the outage %+v, want that of %+v", s, c)
		}
		for answer, got := range map[string]string{
			"clusters":             w.site("sim").Remedy,
			"health":               w.checked(admin, "listing", "sim").Remedy,
			"why, of running jobs": w.causes(runs, why.Unknown, 2, "").Remedy,
			"why, of waiting jobs": w.causes(waits, why.Silent, 3, "").Remedy,
		} {
			if got != want {
				t.Errorf("%s advises %q, want %q", answer, got, want)
			}
		}
		w.until(3*time.Hour, "the end of the outage", func() bool { return w.site("sim").Healthy })
		if s := w.detail(runs, 0).Silent; s != nil {
			t.Errorf("after the outage the status has %+v", s)
		}
		if got := w.site("sim").Remedy; got != "" {
			t.Errorf("after the outage clusters advises %q", got)
		}
	})
}

// detail returns the detail of a local job, as an administrator sees it.
func (w *world) detail(id jjm.GridID, n int32) *wire.LocalDetail {
	w.t.Helper()
	s, err := w.engine.Status(w.t.Context(), admin, []jjm.Ref{{Grid: id, Locals: true, First: n, Last: n}})
	w.must(err)
	return s[0].Detail
}
