package engine_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// wrongInput is a job file of three local jobs whose input has a wrong checksum until writeInput("cards") writes the
// file. jjm detects this when it packs the input.
func wrongInput() string {
	return mc(3, fmt.Sprintf(`inputs = [{path = "cards", sha256 = "%x"}]`, sha256.Sum256([]byte("cards"))))
}

// spoilInput is an action that writes the input of wrongInput with a wrong checksum.
func spoilInput(s *stage) error {
	return os.WriteFile(filepath.Join(s.dir, "cards"), []byte("other"), 0o600)
}

// submitBack returns an action that submits a job file with a rollback: what jjm does with a grid job that cannot be
// prepared or submitted.
func submitBack(key, text string, back jjm.Rollback) func(*stage) error {
	return func(s *stage) error {
		got, err := s.engine.Submit(context.Background(), alice,
			wire.Submit{Name: "j.toml", Text: text, BaseDir: s.dir, Key: key, Rollback: back})
		if err == nil {
			s.ids[key] = got.ID
		}
		return err
	}
}

// submitKept returns an action that submits a grid job again that was kept by its rollback.
func submitKept(key string) func(*stage) error {
	return func(s *stage) error {
		_, err := s.engine.Submit(context.Background(), alice, wire.Submit{Again: s.ids[key]})
		if jjm.KindOf(err) == jjm.Conflict { // the request was stored before the engine died
			return nil
		}
		return err
	}
}

// isKept waits until a grid job is kept: registered again, without local jobs, and with the reason.
func (w *world) isKept(id jjm.GridID) {
	w.t.Helper()
	w.until(time.Hour, "the grid job is kept", func() bool {
		l := w.lookup(id)
		return l.Status == "registered" && l.Master == "new" && strings.Contains(l.Message, "cards") && l.Counts.Total == 0
	})
}

// A grid job with the rollback "remove" cannot be prepared. It is removed completely, and its request key is free
// again.
func TestRollback_NothingIsLeft(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		s := &stage{world: w, ids: map[string]jjm.GridID{}}
		w.must(spoilInput(s))
		w.must(submitBack("k", wrongInput(), jjm.RollbackRemove)(s))
		first := s.ids["k"]
		w.until(time.Hour, "it is removed", func() bool { return w.removed(first) })
		told := w.lookup(first)
		if told.Status != "broken" || !strings.Contains(told.Message, "cards") || told.Removed == nil ||
			!strings.HasSuffix(told.Removed.By, ", submitting with --wait)") {
			t.Errorf("its end is %+v", told)
		}
		told.Removed = nil
		w.verifyRemoved(told)
		if names := w.packages(); len(names) > 0 {
			t.Errorf("packages are left: %v", names)
		}
		w.must(writeInput("cards")(s))
		w.must(submitBack("k", wrongInput(), jjm.RollbackRemove)(s))
		if s.ids["k"] == first {
			t.Fatal("the request key still means the removed grid job")
		}
		w.final(time.Hour, s.ids["k"])
		w.verify(s.ids["k"], done(3))
	})
}

// A grid job without a rollback that cannot be prepared ends as broken, with its tar.
func TestRollback_OnlyIfAskedFor(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		s := &stage{world: w, ids: map[string]jjm.GridID{}}
		w.must(spoilInput(s))
		w.must(submitBack("k", wrongInput(), "")(s))
		w.final(time.Hour, s.ids["k"])
		w.verify(s.ids["k"], want{status: jjm.Broken, gram: jjm.GRAMFailed, jobs: 0})
		_, err := w.engine.Submit(context.Background(), alice, wire.Submit{Again: s.ids["k"]})
		if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), "jjm copy") {
			t.Errorf("a broken grid job is submitted again: %v", err)
		}
	})
}

// A grid job with the rollback "keep" cannot be prepared. It waits, also after a restart, until its owner submits it
// again, removes it or kills it.
func TestRollback_AKeptGridJobIsSubmittedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		s := &stage{world: w, ids: map[string]jjm.GridID{}}
		w.must(spoilInput(s))
		for _, key := range []string{"again", "removed", "killed"} {
			w.must(submitBack(key, wrongInput(), jjm.RollbackKeep)(s))
			w.isKept(s.ids[key])
		}
		w.reopen()
		again := s.ids["again"]
		if _, err := w.engine.Submit(ctx, bob, wire.Submit{Again: again}); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("somebody else submits it: %v", err)
		}
		w.must(submitKept("again")(s))
		w.pass(time.Minute)
		w.isKept(again) // the input is still wrong
		w.must(writeInput("cards")(s))
		w.pass(time.Hour)
		w.isKept(again) // nobody submitted the grid job again
		_, err := w.engine.Submit(ctx, alice, wire.Submit{Again: again})
		w.must(err)
		w.final(time.Hour, again)
		w.verify(again, done(3))

		w.must(w.remove(alice, false, s.ids["removed"])[0].Error.Err())
		w.until(time.Hour, "it is removed", func() bool { return w.removed(s.ids["removed"]) })
		w.must(submitBack("removed", wrongInput(), "")(s))
		w.final(time.Hour, s.ids["removed"])
		w.verify(s.ids["removed"], done(3))

		w.must(killOf("killed", "")(s))
		w.final(time.Hour, s.ids["killed"])
		w.verify(s.ids["killed"], want{status: jjm.Aborted, gram: jjm.GRAMDone, jobs: 0})
		w.verifyQuiet()
	})
}

// If a cluster is busy, or its answers are in doubt, the rollback of a grid job is not used.
func TestRollback_NotForABusyCluster(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.sim.OnSubmit(adaptertest.SayBusy, adaptertest.LoseRequest, adaptertest.SayBusy)
		s := &stage{world: w, ids: map[string]jjm.GridID{}}
		w.must(submitBack("a", mc(3), jjm.RollbackRemove)(s))
		w.must(submitBack("b", mc(3), jjm.RollbackKeep)(s))
		w.final(time.Hour, s.ids["a"], s.ids["b"])
		w.verify(s.ids["a"], done(3))
		w.verify(s.ids["b"], done(3))
	})
}
