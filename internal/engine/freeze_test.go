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

// freeze freezes local jobs as alice.
func (w *world) freeze(ref string) wire.Frozen {
	w.t.Helper()
	a, err := call(context.Background(), w.engine, wire.VerbFreeze(), alice, wire.FreezeRequest{Many: wire.Refs(ref)})
	if err != nil {
		return wire.Frozen{Error: wire.ErrorOf(err)}
	}
	return a.Freeze[0]
}

func (w *world) unfreeze(ref string) wire.Frozen {
	w.t.Helper()
	a, err := call(context.Background(), w.engine, wire.VerbUnfreeze(), alice,
		wire.UnfreezeRequest{Many: wire.Refs(ref)})
	if err != nil {
		return wire.Frozen{Error: wire.ErrorOf(err)}
	}
	return a.Unfreeze[0]
}

// oneEach waits until local job 0 failed and local job 1 completed.
func (w *world) oneEach(id jjm.GridID) {
	w.t.Helper()
	w.until(time.Hour, "an end of both", func() bool {
		c := w.lookup(id).Counts
		return c.Failed == 1 && c.Completed == 1
	})
}

// No operation except unfreeze changes a frozen local job, also after a restart.
func TestFreeze_NothingTouchesAFrozenLocalJob(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: firstEnd}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(3))
		w.oneEach(id)
		before := w.locals(id)
		if got := w.freeze(id.String()); got.Error != nil || got.Jobs != 2 || len(got.Left) != 0 {
			t.Fatalf("%+v, %v", got, got.Error)
		}
		if again := w.freeze(id.String()); !again.NoChange || again.Error != nil {
			t.Errorf("again: %+v", again)
		}
		w.reopen()
		for n, want := range []jjm.State{jjm.FailedFrozen, jjm.CompletedFrozen, jjm.Running} {
			l := w.local(id, int32(n))
			if l.State != want || n < 2 && (l.Phase != before[n].Phase || l.Message != before[n].Message) {
				t.Errorf("local job %d: %s/%s, %q", n, l.State, l.Phase, l.Message)
			}
		}
		if c := w.lookup(id).Counts; c.Failed != 1 || c.FailedFrozen != 1 || c.Completed != 1 || c.CompletedFrozen != 1 {
			t.Errorf("counts %+v", c)
		}
		for _, n := range []string{".0", ".1"} {
			for _, to := range []string{"failed", "completed"} {
				if got := w.force(id.String()+n, to, false); got.Error == nil || !strings.Contains(got.Error.Text, "unfreeze") {
					t.Errorf("force %s to %s: %+v", n, to, got)
				}
			}
			if got := w.resubmit(true, id.String()+n); got.Error == nil || !strings.Contains(got.Error.Text, "unfreeze") {
				t.Errorf("resubmit %s: %+v", n, got)
			}
		}
		w.kill(id.String() + ".0-1")
		if got := w.unfreeze(id.String() + ".1"); got.Error != nil || got.Jobs != 1 {
			t.Errorf("unfreeze: %+v", got)
		}
		if got := w.unfreeze(id.String() + ".1-2"); got.Error != nil || !got.NoChange {
			t.Errorf("unfreeze again: %+v", got)
		}
		w.final(10*time.Hour, id)
		if st := w.status(id); st.Lookup.Status != "finished" ||
			!strings.Contains(st.Lookup.Message, "2 of 3 local jobs done, 1 failed_frozen") {
			t.Errorf("%s: %s", st.Lookup.Status, st.Lookup.Message)
		}
		if got := w.unfreeze(id.String() + ".0"); got.Error == nil || got.Error.Kind != jjm.Conflict {
			t.Errorf("after the end: %+v", got)
		}
	})
}

// Local jobs are frozen after they completed. Their work counts as completed in the end of the grid job, in the proof
// and in the tar.
func TestFreeze_CompletedStaysCompleted(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: oneLong}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(3))
		w.until(time.Hour, "an end of two", func() bool { return w.lookup(id).Counts.Completed == 2 })
		if got := w.freeze(id.String() + ".0"); got.Error != nil || got.Jobs != 1 {
			t.Fatalf("%+v, %v", got, got.Error)
		}
		w.final(10*time.Hour, id)
		if st := w.status(id); st.Lookup.Status != "done" || st.Lookup.Counts.Completed != 3 {
			t.Errorf("%s: %s, %+v", st.Lookup.Status, st.Lookup.Message, st.Lookup.Counts)
		}
		if v := w.proof(id, ""); v.Verdict != cover.Proven || v.Missing != 0 {
			t.Errorf("%+v", v)
		}
	})
}

// A local job is killed and then frozen. After the unfreeze it is failed, and can run again.
func TestFreeze_AKilledLocalJobIsFailedAfterwards(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: firstEnd}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(4))
		w.oneEach(id)
		w.kill(id.String() + ".2")
		w.until(time.Hour, "killed", func() bool { return w.local(id, 2).State == jjm.Killed })
		if got := w.freeze(id.String() + ".2-3"); got.Error != nil || got.Jobs != 1 || len(got.Left) != 1 ||
			!strings.Contains(got.Left[0].Why, "only a local job that is over") {
			t.Errorf("%+v", got)
		}
		if l := w.local(id, 2); l.State != jjm.FailedFrozen {
			t.Errorf("%s/%s", l.State, l.Phase)
		}
		if got := w.unfreeze(id.String() + ".2"); got.Jobs != 1 || w.local(id, 2).State != jjm.Failed {
			t.Errorf("%+v, %s", got, w.local(id, 2).State)
		}
		if got := w.resubmit(false, id.String()+".2"); got.Error != nil || got.Jobs != 1 {
			t.Errorf("%+v", got)
		}
		w.final(20*time.Hour, id)
		if l := w.local(id, 2); l.State != jjm.Completed || l.Attempt != 1 {
			t.Errorf("%s/%s, attempt %d", l.State, l.Phase, l.Attempt)
		}
	})
}

// If a local job cannot be frozen, the error has the reason.
func TestFreeze_Refusals(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: firstEnd}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(3))
		w.oneEach(id)
		for ref, c := range map[string]struct {
			kind jjm.Kind
			text string
		}{
			id.String() + ".2": {jjm.Conflict, "only a local job that is over can be frozen"},
			id.String() + ".9": {jjm.Gone, "no such local job"},
			"99.0":             {jjm.Gone, "99"},
		} {
			if got := w.freeze(ref); got.Error == nil || got.Error.Kind != c.kind ||
				!strings.Contains(got.Error.Text, c.text) {
				t.Errorf("%s: %+v", ref, got.Error)
			}
		}
		a, err := call(t.Context(), w.engine, wire.VerbFreeze(), bob, wire.FreezeRequest{Many: wire.Refs(id.String())})
		if err != nil || a.Freeze[0].Error == nil || a.Freeze[0].Error.Kind != jjm.Denied {
			t.Errorf("bob: %+v, %v", a, err)
		}
		a, err = call(t.Context(), w.engine, wire.VerbFreeze(), alice, wire.FreezeRequest{Many: wire.Refs(id.String()),
			FreezeHow: wire.FreezeHow{DryRun: true}})
		if err != nil || a.Freeze[0].Jobs != 2 || w.local(id, 0).State != jjm.Failed {
			t.Errorf("dry run: %+v, %v, %s", a, err, w.local(id, 0).State)
		}
	})
}

// oneLong plays attempts: the last of three local jobs runs for hours; the other local jobs complete immediately.
func oneLong(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
	if id.N == 2 {
		return adaptertest.Play{Life: 5 * time.Hour}
	}
	return adaptertest.Play{Life: time.Minute}
}

// frozenScenario returns a scenario that freezes a local job that failed and a local job that completed, and unfreezes
// the completed one.
func frozenScenario() scenario {
	change := func(rest string, do func(*world, string) wire.Frozen) func(*stage) error {
		return func(s *stage) error { return do(s.world, s.ids["a"].String()+rest).Error.Err() }
	}
	return scenario{
		play: firstEnd, only: []string{"freeze", "unfreeze", "verdict"},
		actions: []action{
			{0, submitAs("a", plain(3))},
			{20 * time.Minute, change(".0", (*world).freeze)},
			{20 * time.Minute, change(".1", (*world).freeze)},
			{30 * time.Minute, change(".1", (*world).unfreeze)},
		},
		wants: map[string]want{"a": ends(jjm.Finished, 3,
			map[int32]jjm.State{0: jjm.FailedFrozen, 1: jjm.Completed, 2: jjm.Completed})},
	}
}
