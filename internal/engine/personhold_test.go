package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

func (w *world) hold(c wire.Caller, ref string, how wire.HoldHow) wire.Held {
	w.t.Helper()
	r, err := jjm.ParseRef(ref)
	w.must(err)
	return w.engine.Hold(context.Background(), c, []jjm.Ref{r}, how)[0]
}

func holdOf(key, rest string) func(*stage) error {
	return func(s *stage) error {
		ref, err := jjm.ParseRef(s.ids[key].String() + rest)
		if err != nil {
			return err
		}
		return s.engine.Hold(context.Background(), alice, []jjm.Ref{ref}, wire.HoldHow{Reason: "a test"})[0].Error.Err()
	}
}

// personHoldScenario returns a scenario that holds running local jobs, queued local jobs and local jobs that were not
// submitted, and releases all of them later.
func personHoldScenario() scenario {
	return scenario{
		sim:  adaptertest.SimConfig{MaxBulk: 3, Slots: 2, Life: 5 * time.Minute},
		only: []string{"hold-request", "release-held", "settle", "verdict"},
		actions: []action{
			{0, submitAs("a", mc(8))},
			{70 * time.Second, holdOf("a", "")},
			{80 * time.Second, releaseOf("a", ".7")},
			{90 * time.Second, holdOf("a", ".7")},
			{40 * time.Minute, releaseOf("a", "")},
		},
		wants: map[string]want{"a": done(8)},
	}
}

// A person holds a grid job. Queued jobs are taken back from the batch system and wait; running jobs continue. This is
// also true if workers do not see the work area.
func TestPersonHold_QueuedJobsWaitAndRunningOnesGoOn(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]options{
		"a shared file system":   {},
		"no shared file system":  {sim: adaptertest.SimConfig{NoSharedFS: true}},
		"a two-phase submission": {sim: adaptertest.SimConfig{TwoPhase: true}},
	} {
		o.sim.Slots, o.sim.Life = 2, 10*time.Minute
		t.Run(name, func(t *testing.T) {
			inWorld(t, o, func(t *testing.T, w *world) {
				id := w.submit(alice, mc(6))
				w.pass(3 * time.Minute)
				before := w.describe(id)
				if r := w.hold(alice, "1", wire.HoldHow{DryRun: true}); r.Jobs != 4 || r.Later != 2 {
					t.Errorf("a dry run: %+v", r)
				}
				if after := w.describe(id); after != before {
					t.Errorf("a dry run changed something: -want +got\n%s", cmp.Diff(before, after))
				}
				if r := w.hold(alice, "1", wire.HoldHow{Reason: "disk 7"}); r.Jobs != 4 || r.Later != 2 || r.Error != nil {
					t.Errorf("alice holds all: %+v", r)
				}
				w.pass(2 * time.Hour)
				for n, l := range w.locals(id) {
					switch {
					case n < 2 && l.State != jjm.Completed:
						t.Errorf("%s ran when it was held: %s/%s", l.ID, l.State, l.Phase)
					case n >= 2 && (l.State != jjm.Held || l.Phase != jjm.HeldByPerson || l.Holding.By != jjm.HeldOperator ||
						l.Holding.Text != alice.Actor()+": disk 7" || l.Counters != jjm.Counters{}):
						t.Errorf("%s was queued when it was held: %s/%s %+v", l.ID, l.State, l.Phase, l.Holding)
					}
				}
				if r := w.release(alice, "1"); r.Jobs != 4 {
					t.Errorf("alice releases all: %+v", r)
				}
				w.final(3*time.Hour, id)
				for _, l := range w.locals(id) {
					if l.State != jjm.Completed {
						t.Errorf("%s: %s/%s", l.ID, l.State, l.Phase)
					}
				}
				w.verifyQuiet()
			})
		})
	}
}

// A local job that runs when it is held waits before its next attempt.
func TestPersonHold_ARunningJobWaitsBeforeItsNextAttempt(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Attempt == 0 {
			return adaptertest.Play{Keyword: "RETRY", Data: "step 2"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Minute}, play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.pass(3 * time.Minute)
		if r := w.hold(alice, "1.0-1", wire.HoldHow{}); r.Later != 2 {
			t.Errorf("alice holds what runs: %+v", r)
		}
		if r := w.release(alice, "1.1"); r.Jobs != 1 {
			t.Errorf("alice releases one that runs: %+v", r)
		}
		w.pass(time.Hour)
		l := w.locals(id)
		if l[0].State != jjm.Held || l[0].Phase != jjm.HeldByPerson || l[0].Attempt != 1 ||
			strings.Join(l[0].RetryArgs, " ") != "step 2" {
			t.Errorf("held while it ran: %s/%s attempt %d", l[0].State, l[0].Phase, l[0].Attempt)
		}
		if l[1].State != jjm.Completed || l[1].Attempt != 1 {
			t.Errorf("released before it ended: %s/%s attempt %d", l[1].State, l[1].Phase, l[1].Attempt)
		}
		w.release(alice, "1.0")
		w.final(time.Hour, id)
		if l := w.locals(id)[0]; l.State != jjm.Completed || l.Attempt != 1 {
			t.Errorf("released: %s/%s attempt %d", l.State, l.Phase, l.Attempt)
		}
	})
}

// Only owners and administrators may hold a job. A hold ends when it becomes too old, and a held local job can be
// killed.
func TestPersonHold_IsRefusedAgesAndCanBeKilled(t *testing.T) {
	t.Parallel()
	o := options{sim: adaptertest.SimConfig{Slots: 1, Life: 10 * time.Minute}, config: heldConfig}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4))
		w.pass(3 * time.Minute)
		for ref, want := range map[string]jjm.Kind{"1": jjm.Denied, "9": jjm.Gone} {
			if r := w.hold(bob, ref, wire.HoldHow{}); jjm.KindOf(r.Error.Err()) != want {
				t.Errorf("bob holds %s: %+v", ref, r)
			}
		}
		if r := w.hold(admin, "1.7", wire.HoldHow{}); jjm.KindOf(r.Error.Err()) != jjm.Gone {
			t.Errorf("a hold of 1.7: %+v", r)
		}
		if r := w.hold(admin, "1.2-3", wire.HoldHow{}); r.Jobs != 2 {
			t.Errorf("an administrator holds two: %+v", r)
		}
		w.pass(5 * time.Minute)
		want := wire.Held{Ref: "1.3", NoChange: true, Left: []wire.Left{{Local: "1.3", Why: "it is held already"}}}
		if diff := cmp.Diff(want, w.hold(alice, "1.3", wire.HoldHow{})); diff != "" {
			t.Errorf("a second hold: -want +got\n%s", diff)
		}
		w.kill("1.2")
		w.final(3*time.Hour, id)
		l := w.locals(id)
		if l[2].State != jjm.Killed || l[3].State != jjm.Failed ||
			!strings.HasPrefix(l[3].Message, "held by the operator for 40 min") {
			t.Errorf("%s", w.describe(id))
		}
		if r := w.hold(alice, "1", wire.HoldHow{}); jjm.KindOf(r.Error.Err()) != jjm.Conflict {
			t.Errorf("a hold of what is over: %+v", r)
		}
	})
}

// A release may set new retry arguments for the next attempt, and so may a resubmission of failed local jobs.
func TestRelease_WithOtherWords(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		switch {
		case id.Attempt == 0 && id.N < 2:
			return adaptertest.Play{Keyword: "HOLD", Data: "look at me"}
		case id.Attempt == 0 && id.N == 2:
			return adaptertest.Play{Keyword: "FAILED", Data: "no disk"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{sim: adaptertest.SimConfig{Slots: 3, Life: 5 * time.Minute}, play: play},
		func(t *testing.T, w *world) {
			id := w.submit(alice, mc(5))
			w.pass(3 * time.Minute)
			w.hold(alice, "1.4", wire.HoldHow{})
			w.hold(alice, "1.0", wire.HoldHow{})
			words := wire.ReleaseHow{Args: []string{"step", "2"}}
			runs := w.engine.Release(t.Context(), alice, []jjm.Ref{{Grid: id, Locals: true}}, words)[0]
			stays := wire.Released{Ref: "1.0", NoChange: true, Left: []wire.Left{{Local: "1.0", Why: "its attempt is in the " +
				"batch system and takes no new words (--args, --restart): release it without them"}}}
			if diff := cmp.Diff(stays, runs); diff != "" {
				t.Errorf("alice releases with words what runs: -want +got\n%s", diff)
			}
			if r := w.release(alice, "1.0"); r.Jobs != 1 {
				t.Errorf("alice releases what runs: %+v", r)
			}
			w.pass(20 * time.Minute)
			all := []jjm.Ref{{Grid: id}}
			got := w.engine.Release(t.Context(), alice, all, words)[0]
			want := wire.Released{Ref: "1", Jobs: 3} // 1.4 was taken back, so that its next attempt is the second
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("alice releases all with words: -want +got\n%s", diff)
			}
			if r := w.engine.Resubmit(t.Context(), alice, all, wire.ResubmitHow{Args: []string{"RESTART"}})[0]; r.Jobs != 1 {
				t.Errorf("what failed, from scratch: %+v", r)
			}
			w.final(3*time.Hour, id)
			for n, want := range []string{"step 2", "step 2", "RESTART", "", "step 2"} {
				if l := w.locals(id)[n]; l.State != jjm.Completed || strings.Join(l.RetryArgs, " ") != want {
					t.Errorf("%s: %s with %q, want %q", l.ID, l.State, l.RetryArgs, want)
				}
			}
		})
}

// The new retry arguments survive the reopening of a grid job that is over.
func TestRelease_WithOtherWordsReopens(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Attempt == 0 {
			return adaptertest.Play{Keyword: "FAILED", Data: "no disk"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.final(time.Hour, id)
		how := wire.ResubmitHow{Args: []string{"other", "disk"}}
		if r := w.engine.Resubmit(t.Context(), alice, []jjm.Ref{{Grid: id}}, how)[0]; r.Jobs != 2 || r.Generation != 2 {
			t.Errorf("what failed: %+v", r)
		}
		w.pass(time.Hour)
		for _, l := range w.locals(id) {
			if l.State != jjm.Completed || strings.Join(l.RetryArgs, " ") != "other disk" {
				t.Errorf("%s: %s with %q", l.ID, l.State, l.RetryArgs)
			}
		}
	})
}
