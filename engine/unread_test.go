package engine_test

import (
	"slices"
	"testing"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/adapters/adaptertest"
)

// garble takes the reports of one index out of a listing, as an adapter does that cannot read
// them. With known it tells their tag.
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

// A record that cannot be read, and may be a local job's, makes it unknown; it does not prove that the job is gone.
func TestUnread_ALocalJobIsUnknownAndNotLost(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"by its tag": true, "without a tag": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{sim: adaptertest.SimConfig{Life: 6 * time.Hour}}, func(t *testing.T, w *world) {
				id := w.submit(alice, mc(3))
				w.running(id, 3)
				w.adapter.onList.set(func(l *adapters.Listing) { garble(l, 1, known) })
				w.pass(4 * time.Hour)
				if c := w.lookup(id).Counts; c.Running != 3 {
					t.Errorf("after four hours: %+v", c)
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

// A record of somebody else's job that cannot be read hides nothing: what is gone is found to be.
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
		if n := w.logged("it is not jjm's"); n == 0 || n > 20 { // every ten minutes
			t.Errorf("told %d times", n)
		}
		w.final(30*time.Hour, id)
	})
}
