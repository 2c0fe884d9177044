package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

func TestPlainGridJob_EndsAsDoneWithTarRecordAndHistory(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(12))
		w.final(10*time.Minute, id)
		w.verify(id, done(12))
		w.verifyQuiet()
		w.verifyAfterReopening(id)
		w.verify(id, done(12))
	})
}

func TestPlainGridJob_ReportsItsStagesToTheGatekeeper(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{Wait: 5 * time.Minute, Life: 10 * time.Minute, MaxBulk: 4, Slots: 8}
	inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
		w.sim.Down(2 * time.Minute)
		id := w.submit(alice, mc(12))
		stage := func(gram jjm.GRAM, master string, statuses ...string) {
			t.Helper()
			l := w.lookup(id)
			if l.GRAM != gram || l.Master != master || !slices.Contains(statuses, l.Status) || l.Tar != "" || l.Code != 0 {
				t.Errorf("GRAM %d, master %s, status %s, tar %q, code %d; want %d, %s, %v", l.GRAM, l.Master, l.Status, l.Tar,
					l.Code, gram, master, statuses)
			}
		}
		if l := w.lookup(id); l.GRAM != jjm.GRAMUnsubmitted || l.Tar != "" {
			t.Errorf("at once: %+v", l)
		}
		w.pass(time.Minute)
		stage(jjm.GRAMUnsubmitted, "submitted", "pending")
		w.until(10*time.Minute, "submitted", func() bool { return w.lookup(id).Counts.Submitted == 12 })
		stage(jjm.GRAMPending, "submitted", "running")
		w.until(10*time.Minute, "running", func() bool { return w.lookup(id).Counts.Running == 8 })
		stage(jjm.GRAMActive, "submitted", "running")
		w.until(20*time.Minute, "all started", func() bool { return w.lookup(id).Counts.Running == 4 })
		stage(jjm.GRAMActive, "running", "running")
		w.final(30*time.Minute, id)
		if l := w.lookup(id); l.Master != "completed" || l.Exit != 0 {
			t.Errorf("at the end: %+v", l)
		}
		w.verify(id, done(12))
		w.verifyQuiet()
	})
}

func TestPlainGridJob_HistoryHasItsCourse(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.final(10*time.Minute, id)
		var story []string
		entries, err := w.engine.History(context.Background(), alice, jjm.Ref{Grid: id, Locals: true, First: 1, Last: 1}, -1)
		w.must(err)
		for _, e := range entries {
			story = append(story, e.To)
		}
		want := "new submitting/spooled submitted/queued running completed"
		if got := strings.Join(story, " "); got != want {
			t.Errorf("history of local job 1: %s; want %s", got, want)
		}
		attempts, err := w.store.Attempts(context.Background(), jjm.LocalID{Grid: id, N: 1})
		w.must(err)
		if len(attempts) != 1 || attempts[0].Evidence.Result == nil || attempts[0].Verdict.Action != jjm.Complete {
			t.Errorf("attempts of local job 1: %+v", attempts)
		}
	})
}

func TestPlainGridJob_OfOnePartHasItsExitCode(t *testing.T) {
	t.Parallel()
	play := func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Keyword: "-", Exit: 3}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(1))
		w.final(10*time.Minute, id)
		l := w.lookup(id)
		if l.Status != "failed" || l.GRAM != jjm.GRAMFailed || l.Code != 17 || l.Exit != 3 || l.Message == "" {
			t.Errorf("%+v", l)
		}
		w.verify(id, want{status: jjm.GridFailed, gram: jjm.GRAMFailed, jobs: 1, states: map[int32]jjm.State{0: jjm.Failed}})
		w.verifyQuiet()
	})
}

func TestPlainGridJob_LookupOfOthersIsDenied(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(1))
		for range 2 { // once while the grid job is live, and once after it is archived
			l := w.engine.Lookup(context.Background(), bob, []jjm.GridID{id, 99})
			if l[0].Error == nil || l[0].Error.Kind != jjm.Denied || l[1].Error == nil || l[1].Error.Kind != jjm.Gone {
				t.Errorf("%+v", l)
			}
			k := w.engine.Kill(context.Background(), bob, []jjm.Ref{{Grid: id}}, wire.KillHow{})[0]
			if k.Error == nil || k.Error.Kind != jjm.Denied {
				t.Errorf("kill: %+v", k)
			}
			w.final(10*time.Minute, id)
		}
		w.verify(id, done(1))
		if list, err := w.engine.List(context.Background(), bob, wire.List{All: true}); err != nil || len(list) != 0 {
			t.Errorf("bob's list: %v, %v", list, err)
		}
	})
}
