package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// copy makes a copy of a grid job, with edits of its job file ("key=value").
func (w *world) copy(c wire.Caller, id jjm.GridID, edits ...string) (wire.Copied, error) {
	return w.engine.Copy(context.Background(), c, id, wire.CopyHow{Set: edits})
}

// copied copies a grid job for alice, and returns the id of the copy.
func (w *world) copied(id jjm.GridID, edits ...string) jjm.GridID {
	w.t.Helper()
	made, err := w.copy(alice, id, edits...)
	w.must(err)
	if made.Of != id || made.Existed || made.JobFile != "" || made.Plan != nil {
		w.t.Errorf("a copy of %s: %+v", id, made)
	}
	return made.ID
}

// notCopied requires that copying a grid job with these edits fails, with an error that contains a text.
func (w *world) notCopied(c wire.Caller, id jjm.GridID, kind jjm.Kind, text string, edits ...string) {
	w.t.Helper()
	if _, err := w.copy(c, id, edits...); jjm.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		w.t.Errorf("grid job %s with %q: %v, want an error of kind %s with %q", id, edits, err, kind, text)
	}
}

// specOf returns the stored grid job, with its job file.
func (w *world) specOf(id jjm.GridID) jjm.GridJob {
	w.t.Helper()
	job, _, err := w.store.Kept(context.Background(), id)
	w.must(err)
	return job
}

// A grid job can be copied in any status, and the copy does not change it. The copy is a separate grid job with the
// same job file, except for the request key and the edits.
func TestCopy_MakesANewGridJobOfAnOldOneInAnyStatus(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.must(os.WriteFile(filepath.Join(w.dir, "cards"), []byte("x"), 0o600))
		first, err := w.trySubmit(alice, "k", mc(4, `inputs = [{path = "cards"}]`))
		w.must(err)
		early := w.copied(first.ID)
		w.running(first.ID, 4)
		late := w.copied(first.ID, "name=again", "params.events=20")
		w.final(time.Hour, first.ID, early, late)
		w.untilArchived(first.ID, time.Hour)
		told, old := w.lookup(first.ID), w.specOf(first.ID)
		killed := w.copied(first.ID)
		w.engine.Kill(t.Context(), alice, []jjm.Ref{all(killed)}, wire.KillHow{})
		w.final(time.Hour, killed)
		last := w.copied(killed)
		w.final(time.Hour, last)
		want := old.Spec
		want.Key = ""
		for _, id := range []jjm.GridID{early, killed, last} {
			if job := w.specOf(id); cmp.Diff(want, job.Spec) != "" || job.BaseDir != w.dir || job.Owner != old.Owner {
				t.Errorf("copy %s in %s of %+v: %s", id, job.BaseDir, job.Owner, cmp.Diff(want, job.Spec))
			}
		}
		if job := w.specOf(late); job.Spec.Name != "again" || job.Step.Made != 2 || w.lookup(late).Status != "done" {
			t.Errorf("the edited one: %+v", job)
		}
		if d := cmp.Diff(told, w.lookup(first.ID)); d != "" || cmp.Diff(old, w.specOf(first.ID)) != "" {
			t.Errorf("the old one changed: %s", d)
		}
		if h, err := w.engine.History(t.Context(), alice, all(last), 0); err != nil ||
			h[0].Cause != "accepted: montecarlo, a copy of grid job "+killed.String() {
			t.Errorf("history %+v, %v", h, err)
		}
		w.must(w.store.Check(t.Context()))
	})
}

// A dry run of a copy shows the job file and the plan, and stores nothing. If the copy has a request key, a repeated
// request returns the same copy.
func TestCopy_DryRunAndRequestKey(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		first, err := w.trySubmit(alice, "k", mc(4))
		w.must(err)
		how := wire.CopyHow{Set: []string{"params.events=20"}, Key: "k2", DryRun: true}
		dry, err := w.engine.Copy(t.Context(), alice, first.ID, how)
		if err != nil || dry.Of != first.ID || dry.ID != 0 || dry.Plan == nil || dry.Plan.Jobs != 2 ||
			!strings.Contains(dry.JobFile, `"events": 20`) {
			t.Errorf("%+v, %v", dry, err)
		}
		how.DryRun = false
		made, err := w.engine.Copy(t.Context(), alice, first.ID, how)
		again, err2 := w.engine.Copy(t.Context(), alice, first.ID, how)
		if errors.Join(err, err2) != nil || made.ID != 2 || made.Existed || again.ID != 2 || !again.Existed ||
			made.Handle != jjm.HandleOf(alice.UID, "k2") {
			t.Errorf("%+v, %+v, %v, %v", made, again, err, err2)
		}
		how.Key = "k" // with the key of the original, the answer is the original grid job
		if old, err := w.engine.Copy(t.Context(), alice, first.ID, how); err != nil || old.ID != 1 || !old.Existed {
			t.Errorf("%+v, %v", old, err)
		}
		from, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "dry.json", Text: dry.JobFile, BaseDir: w.dir})
		if err != nil || cmp.Diff(w.specOf(2).Spec.Params, w.specOf(from.ID).Spec.Params) != "" {
			t.Errorf("the job file that was shown is not the copy's: %+v, %v", from, err)
		}
	})
}

// Only the owner may copy a grid job that exists. A copy is refused for the same mistakes as a job file.
func TestCopy_IsRefused(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1)}, func(t *testing.T, w *world) {
		first := w.submit(alice, mc(2))
		w.notCopied(bob, first, jjm.Denied, "belongs to alice")
		w.notCopied(wire.Caller{UID: 70002, User: "operator", Admin: true}, first, jjm.Denied,
			"a copy would run as operator: only its owner copies it")
		w.notCopied(alice, 99, jjm.Gone, "no grid job 99")
		w.notCopied(alice, first, jjm.Invalid, "params.evnts: ", "params.evnts=5")
		w.notCopied(alice, first, jjm.Invalid, "no such key to take away", "params.evnts=")
		w.notCopied(alice, first, jjm.Invalid, "type: ", "type=nonsense")
		w.final(time.Hour, first)
		lost := w.proof(first, "m.json")
		recovery := w.submit(alice, lost.Recovery)
		w.notCopied(alice, recovery, jjm.Invalid, "a copy would do again what the recovery of grid job 1 did")
		w.final(time.Hour, recovery)
		alone := w.copied(recovery, "recovers=")
		w.final(time.Hour, alone)
		if v := w.proof(first, ""); v.Missing != 0 || v.Overlap != 0 || v.Doubled != 0 || len(v.Recoveries) != 1 {
			t.Errorf("the copy is in the account: %+v", v)
		}
		w.pass(time.Minute)
		w.remove(alice, true, alone)
		w.until(time.Hour, "removed", func() bool { return w.removed(alone) })
		w.notCopied(alice, alone, jjm.Gone, "was removed by alice")
	})
}
