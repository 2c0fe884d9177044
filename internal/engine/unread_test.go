package engine_test

import (
	"slices"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// garble replaces the reports of one index in a listing by an unreadable record, as an adapter does for a record that
// it cannot parse. If known is set, the record has the tag of the reports.
func garble(l *adapters.Listing, index int32, known bool) {
	l.Reports = slices.DeleteFunc(slices.Clone(l.Reports), func(r jjm.Report) bool {
		if r.Index != index {
			return false
		}
		u := adapters.Unread{Tag: r.Tag, Index: -1, Text: "79+0|RUNNING"}
		if !known {
			u.Tag = ""
		}
		l.Unread = append(l.Unread, u)
		return true
	})
}

// A listing has a record that the adapter cannot read and that may belong to a local job. The state of the local job is
// then unknown, and the record does not prove that the job is gone.
func TestUnread_ALocalJobIsUnknownAndNotLost(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"by its tag": true, "without a tag": false} {
		lasts := 50 * time.Minute // an unreadable record without a tag explains an absence for an hour only
		if known {
			lasts = 4 * time.Hour
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{sim: adaptertest.SimConfig{Life: 6 * time.Hour}}, func(t *testing.T, w *world) {
				id := w.submit(alice, mc(3))
				w.running(id, 3)
				w.adapter.onList.set(func(l *adapters.Listing) { garble(l, 1, known) })
				w.pass(lasts)
				if c := w.lookup(id).Counts; c.Running != 3 {
					t.Errorf("after %v: %+v", lasts, c)
				}
				if trouble := w.trouble(id); len(trouble) != 1 {
					t.Errorf("told: %q", trouble)
				}
				w.adapter.onList.set(nil)
				w.final(6*time.Hour, id)
				w.verify(id, done(3))
				for _, l := range w.locals(id) {
					if l.Attempt != 0 {
						t.Errorf("%s ran %d times", l.ID, l.Attempt+1)
					}
				}
			})
		})
	}
}

// An unreadable record of a foreign job has no effect: a job that vanished is still found to be lost.
func TestUnread_AStrangersRecordCostsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		w.adapter.onList.set(func(l *adapters.Listing) {
			l.Unread = append(l.Unread, adapters.Unread{Tag: "wrap", ID: "79", Index: -1, Text: "79+0|79|CANCELLED|wrap"})
		})
		w.sim.Vanish(w.refs(id, 0)...)
		w.until(3*time.Hour, "the one that vanished runs again", func() bool { return w.locals(id)[0].Attempt == 1 })
		if n := w.logged("it is not jjm's"); n != 1 {
			t.Errorf("told %d times", n)
		}
		w.final(30*time.Hour, id)
	})
}

// The batch system reports a state that the adapter does not know. The state of the local job is then unknown: its
// status says so, and the log names the state, but not at every listing.
func TestUnread_AnUnknownStateIsTold(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 6 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.running(id, 3)
		w.adapter.onList.set(func(l *adapters.Listing) {
			for i := range l.Reports {
				l.Reports[i].State, l.Reports[i].Reason = jjm.BatchUnknown, "squeue shows the state DREAMING"
			}
		})
		w.pass(4 * time.Hour)
		if tr, n := w.trouble(id), w.logged("DREAMING"); len(tr) != 1 || n == 0 || n > 3 {
			t.Errorf("after four hours: trouble %q, logged %d times", tr, n)
		}
		w.adapter.onList.set(nil)
		w.final(6*time.Hour, id)
		w.verify(id, done(3))
	})
}

// An unreadable record is logged once while listings have it, and again if it comes back later.
func TestUnread_ARecordThatCameBackIsLoggedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 6 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		for round := 1; round <= 3; round++ {
			w.adapter.onList.set(func(l *adapters.Listing) {
				l.Unread = append(l.Unread, adapters.Unread{Index: -1, Text: "a banner"})
			})
			w.pass(10 * time.Minute)
			if n := w.logged("a banner"); n != round {
				t.Errorf("round %d: logged %d times", round, n)
			}
			w.adapter.onList.set(nil)
			w.pass(10 * time.Minute)
		}
		w.final(12*time.Hour, id)
		w.verify(id, done(2))
	})
}

// Every listing has an unreadable record without an owner. A lost job is found to be lost nevertheless.
func TestUnread_ANamelessRecordHidesNothingForGood(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		w.adapter.onList.set(func(l *adapters.Listing) {
			l.Unread = append(l.Unread, adapters.Unread{Index: -1, Text: "a banner"})
		})
		w.sim.Vanish(w.refs(id, 0)...)
		w.until(4*time.Hour, "the one that vanished runs again", func() bool { return w.locals(id)[0].Attempt == 1 })
		if n := w.logged("a banner"); n != 1 {
			t.Errorf("told %d times", n)
		}
		w.final(30*time.Hour, id)
	})
}

// A job is missing from listings, and accounting has an unreadable record of it. The job is not lost, because it may
// have run. Other jobs of its bulk can be read, so a search for the tag returns Present.
func TestUnread_ARecordOfAccountingIsNoProofOfAbsence(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 6 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.running(id, 3)
		lost := w.refs(id, 1)
		w.adapter.onAccount.set(func(refs []adapters.Ref, reports []jjm.Report) []jjm.Report {
			unread := []adapters.Unread{{Tag: lost[0].Tag, Index: 1, Text: "3_1|DREAMING"}}
			return append(reports, adapters.Doubtful(unread, refs, reports)...)
		})
		w.sim.Vanish(lost...)
		w.pass(4 * time.Hour)
		if l := w.locals(id)[1]; l.Attempt != 0 {
			t.Errorf("%s runs again as attempt %d", l.ID, l.Attempt)
		}
		if tr, n := w.trouble(id), w.logged("DREAMING"); len(tr) != 1 || n == 0 {
			t.Errorf("told: %q, logged %d times", tr, n)
		}
		w.adapter.onAccount.set(nil)
		w.until(3*time.Hour, "it is lost once nothing speaks against it", func() bool { return w.locals(id)[1].Attempt == 1 })
		w.final(30*time.Hour, id)
	})
}
