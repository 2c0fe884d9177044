package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// urgent returns the numbers of the local jobs that a status with a part of the urgent local jobs contains.
func (w *world) urgent(by wire.Caller, id jjm.GridID, part wire.Urgent) (ns []int32) {
	w.t.Helper()
	a, err := call(context.Background(), w.engine, wire.VerbStatus(), by, wire.StatusRequest{
		Many: wire.Refs(id.String()), Urgent: &part})
	w.must(err)
	for _, l := range a.Status[0].Locals {
		ns = append(ns, l.ID.N)
	}
	return ns
}

// A live grid job and a grid job that is over show their failed local jobs first, and never more than requested. No
// account gets the local jobs of another account.
func TestStatus_UrgentLocalJobsComeFirst(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1, 2, 4)}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		var failed []int32
		w.until(time.Hour, "made", func() bool { return len(w.locals(id)) == 6 })
		if got := w.urgent(alice, id, wire.Urgent{Limit: 100}); len(got) != 6 {
			t.Errorf("a live grid job shows %v, want 6 local jobs", got)
		}
		w.final(time.Hour, id)
		for _, l := range w.locals(id) {
			if l.State == jjm.Failed {
				failed = append(failed, l.ID.N)
			}
		}
		if len(failed) == 0 {
			t.Fatal("no local job failed")
		}
		all := w.urgent(alice, id, wire.Urgent{Limit: 100})
		if len(all) != 6 || !slices.Equal(all[:len(failed)], failed) {
			t.Errorf("%v, want %v first", all, failed)
		}
		if got := w.urgent(alice, id, wire.Urgent{From: 1, Limit: 3}); !slices.Equal(got, all[1:4]) {
			t.Errorf("a part is %v, want %v", got, all[1:4])
		}
		if got := w.urgent(bob, id, wire.Urgent{Limit: 3}); got != nil {
			t.Errorf("another account gets %v", got)
		}
		some := []jjm.Ref{{Grid: id, Locals: true, First: all[0], Last: all[0]},
			{Grid: id, Locals: true, First: all[5], Last: all[5]}}
		a, err := call(context.Background(), w.engine, wire.VerbHistory(), alice, wire.HistoryRequest{
			Many: names(some)})
		w.must(err)
		for _, e := range a.History {
			if e.First < 0 || !covers(e, all[0]) && !covers(e, all[5]) {
				t.Errorf("the history of %v has %+v", some, e)
			}
		}
		for _, n := range []int32{all[0], all[5]} {
			if !slices.ContainsFunc(a.History, func(e jjm.JournalEntry) bool { return covers(e, n) }) {
				t.Errorf("the history of %v lacks local job %d", some, n)
			}
		}
		_, err = call(context.Background(), w.engine, wire.VerbHistory(), alice, wire.HistoryRequest{
			Many: names(append(some, jjm.Ref{Grid: id}))})
		if jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("a history of local jobs and of a grid job: %v", err)
		}
	})
}

// covers reports whether an entry of the journal is about a local job.
func covers(e jjm.JournalEntry, n int32) bool { return e.First <= n && n <= e.Last }

// A status with hosts counts the attempts of a live grid job, including the failed attempt of a local job that ran
// again.
func TestStatus_CountsAttemptsByHost(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 1 && id.Attempt == 0 {
			return adaptertest.Play{Life: time.Minute, Exit: 1}
		}
		return adaptertest.Play{Life: time.Minute}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.until(time.Hour, "local job 1 ran again", func() bool {
			ls := w.locals(id)
			return len(ls) == 3 && ls[1].Attempt > 0
		})
		a, err := call(context.Background(), w.engine, wire.VerbStatus(), alice, wire.StatusRequest{
			Many: wire.Refs(id.String()), Hosts: true})
		w.must(err)
		failed := 0
		for _, h := range a.Status[0].Hosts {
			failed += h.Failed
		}
		if failed != 1 || a.Status[0].Locals != nil {
			t.Errorf("%d failed attempts, want 1: %+v", failed, a.Status[0].Hosts)
		}
	})
}
