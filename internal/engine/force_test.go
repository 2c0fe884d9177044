package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/work/cover"
)

// force forces local jobs to the state to, as alice. If now is set, it does not wait for the batch system.
func (w *world) force(ref, to string, now bool) wire.Forced {
	w.t.Helper()
	a, err := call(context.Background(), w.engine, wire.VerbForceStatus(), alice,
		wire.ForceStatusRequest{Many: wire.Refs(ref), ForceHow: wire.ForceHow{To: to, Reason: "a test", Now: now}})
	if err != nil {
		return wire.Forced{Error: wire.ErrorOf(err)}
	}
	return a.Forced[0]
}

// local returns one local job.
func (w *world) local(id jjm.GridID, n int32) jjm.LocalJob { return w.locals(id)[n] }

// firstEnd plays attempts: local job 0 fails and local job 1 completes after a minute. All other local jobs run for
// hours.
func firstEnd(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
	switch id.N {
	case 0:
		return adaptertest.Play{Life: time.Minute, Exit: 1, Keyword: "-"}
	case 1:
		return adaptertest.Play{Life: time.Minute}
	}
	return adaptertest.Play{Life: 5 * time.Hour}
}

// A local job is forced to completed. This proves nothing about its work: verify names the local job, its grid job is
// not done, and a recovery does the work.
func TestForce_ToCompletedProvesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: firstEnd}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(3))
		w.until(time.Hour, "an end of both", func() bool {
			c := w.lookup(id).Counts
			return c.Failed == 1 && c.Completed == 1
		})
		if got := w.force(id.String()+".0", "completed", false); got.Error != nil || got.Jobs != 1 {
			t.Fatalf("%+v, %v", got, got.Error)
		}
		if again := w.force(id.String()+".0", "completed", false); !again.NoChange {
			t.Errorf("again: %+v", again)
		}
		w.reopen()
		if l := w.local(id, 0); !l.IsForced() || !strings.HasPrefix(l.Message, "forced to completed by alice") {
			t.Errorf("%s/%s, %q", l.State, l.Phase, l.Message)
		}
		w.final(10*time.Hour, id)
		if st := w.status(id); st.Lookup.Status != "finished" || !strings.Contains(st.Lookup.Message, "forced by a person") {
			t.Errorf("%s: %s", st.Lookup.Status, st.Lookup.Message)
		}
		v := w.proof(id, "r.json")
		if v.Verdict != cover.Gap || v.Missing != 1 || v.Recovery == "" ||
			!strings.Contains(v.Findings[0].Why, "forced to completed") {
			t.Errorf("%+v", v)
		}
		if got := w.force(id.String()+".0", "failed", false); got.Error == nil || got.Error.Kind != jjm.Conflict {
			t.Errorf("after the end: %+v", got)
		}
	})
}

// A running local job is forced to failed. It is killed first, and fails once the batch system has ended it, also if
// the daemon stopped meanwhile. It never runs again automatically.
func TestForce_ToFailedKillsFirst(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: firstEnd}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(4, "auto_resubmit = true"))
		w.until(time.Hour, "the others running", func() bool {
			c := w.lookup(id).Counts
			return c.Running == 2 && c.Completed == 1
		})
		w.sim.IgnoreCancels(2)
		if got := w.force(id.String()+".2", "failed", false); got.Error != nil || got.Killing != 1 || got.Jobs != 0 {
			t.Fatalf("%+v, %v", got, got.Error)
		}
		if l := w.local(id, 2); l.State != jjm.Running || l.Failing == "" {
			t.Errorf("it did not wait for the kill: %s/%s", l.State, l.Phase)
		}
		w.reopen()
		w.until(2*time.Hour, "failed", func() bool { return w.local(id, 2).State.Final() })
		if l := w.local(id, 2); l.State != jjm.Failed || l.Phase != jjm.Forced || l.Failing != "" ||
			!strings.HasPrefix(l.Message, "forced to failed by alice") {
			t.Errorf("%+v", l)
		}
		w.pass(20 * time.Minute)
		if l := w.local(id, 2); l.State != jjm.Failed || l.Attempt != 0 {
			t.Errorf("it ran again: %s/%s, attempt %d", l.State, l.Phase, l.Attempt)
		}
	})
}

// A local job is forced to failed with Now, and the batch system ignores the cancel. The local job fails immediately.
// Its batch job is cancelled once, and whatever the batch job does later has no effect.
func TestForce_NowDoesNotWaitForTheBatchSystem(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(2))
		w.running(id, 2)
		w.sim.IgnoreCancels(1000)
		if got := w.force(id.String()+".1", "failed", true); got.Error != nil || got.Jobs != 1 {
			t.Fatalf("%+v, %v", got, got.Error)
		}
		if l := w.local(id, 1); l.State != jjm.Failed || l.Phase != jjm.Forced {
			t.Errorf("%s/%s", l.State, l.Phase)
		}
		w.final(5*time.Hour, id)
		if l := w.local(id, 1); l.State != jjm.Failed || l.Phase != jjm.Forced {
			t.Errorf("its late result counts: %s/%s", l.State, l.Phase)
		}
		if got := w.lookup(id); got.Status != "finished" || got.Counts.Completed != 1 || got.Counts.Failed != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// A completed local job is forced to failed. Its result no longer counts, and it can run again.
func TestForce_ACompletedLocalJobToFailedAndAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: firstEnd}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(3))
		w.until(time.Hour, "an end of both", func() bool {
			c := w.lookup(id).Counts
			return c.Failed == 1 && c.Completed == 1
		})
		got := w.force(id.String(), "failed", false) // one local job runs, one has failed, and one has completed
		if got.Error != nil || got.Jobs != 1 || got.Killing != 1 {
			t.Fatalf("%+v, %v", got, got.Error)
		}
		if l := w.local(id, 1); l.State != jjm.Failed || l.Phase != jjm.Forced {
			t.Errorf("%s/%s", l.State, l.Phase)
		}
		w.final(5*time.Hour, id)
		if v := w.proof(id, ""); v.Verdict != cover.Gap || v.Missing != 3 {
			t.Errorf("%+v", v)
		}
	})
}

// If a local job cannot be forced to a state, the error has the reason. Other accounts cannot force its state at all.
func TestForce_Refusals(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(2))
		w.running(id, 2)
		for ref, c := range map[string]struct {
			to   string
			kind jjm.Kind
			text string
		}{
			id.String() + ".0": {"completed", jjm.Conflict, "only a failed local job can be forced to completed"},
			id.String() + ".7": {"failed", jjm.Gone, "no such local job"},
			"99.0":             {"failed", jjm.Gone, "99"},
		} {
			if got := w.force(ref, c.to, false); got.Error == nil || got.Error.Kind != c.kind ||
				!strings.Contains(got.Error.Text, c.text) {
				t.Errorf("%s to %s: %+v", ref, c.to, got.Error)
			}
		}
		a, err := call(t.Context(), w.engine, wire.VerbForceStatus(), bob,
			wire.ForceStatusRequest{Many: wire.Refs(id.String()), ForceHow: wire.ForceHow{To: "failed"}})
		if err != nil || a.Forced[0].Error == nil || a.Forced[0].Error.Kind != jjm.Denied {
			t.Errorf("bob: %+v, %v", a, err)
		}
		w.kill(id.String())
		if got := w.force(id.String()+".0", "failed", false); got.Error == nil || got.Error.Kind != jjm.Conflict {
			t.Errorf("while it is killed: %+v", got)
		}
	})
}

// forceOf returns an action that forces local jobs of a grid job to a state. rest is the part of their reference after
// the id of the grid job.
func forceOf(key, rest, to string) func(*stage) error {
	return func(s *stage) error { return s.force(s.ids[key].String()+rest, to, false).Error.Err() }
}

// forcedScenario returns a scenario in which the state of one local job of each kind is forced.
func forcedScenario() scenario {
	return scenario{
		play: firstEnd, only: []string{"force-status", "verdict"},
		actions: []action{
			{0, submitAs("a", plain(4))},
			{20 * time.Minute, forceOf("a", ".0", "completed")},
			{20 * time.Minute, forceOf("a", ".1", "failed")},
			{20 * time.Minute, forceOf("a", ".2", "failed")},
		},
		wants: map[string]want{"a": ends(jjm.Finished, 4,
			map[int32]jjm.State{0: jjm.Completed, 1: jjm.Failed, 2: jjm.Failed, 3: jjm.Completed})},
		also: func(s *stage) {
			for n, l := range s.locals(s.ids["a"])[:3] {
				if l.Phase != jjm.Forced {
					s.t.Errorf("local job %d: %s/%s", n, l.State, l.Phase)
				}
			}
		},
	}
}
