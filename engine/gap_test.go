package engine_test

import (
	"testing"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/adapters/adaptertest"
)

func TestGap_AnUnknownStateIsNeverTold(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 6 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.running(id, 3)
		w.adapter.onList.set(func(l *adapters.Listing) {
			for i := range l.Reports {
				l.Reports[i].State, l.Reports[i].Reason = jjm.BatchUnknown, "squeue shows the state DREAMING, which jjm does not know"
			}
		})
		w.pass(4 * time.Hour)
		if tr, n := w.trouble(id), w.logged("DREAMING"); len(tr) == 0 || n == 0 {
			t.Errorf("after four hours: trouble %q, logged %d times", tr, n)
		}
	})
}

func TestGap_OneAnonymousRecordHidesEveryLostJob(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		w.adapter.onList.set(func(l *adapters.Listing) {
			l.Unread = append(l.Unread, adapters.Unread{Index: -1, Text: "a banner"})
		})
		w.sim.Vanish(w.refs(id, 0)...)
		w.pass(4 * time.Hour)
		if w.locals(id)[0].Attempt == 0 {
			t.Error("not noticed as lost in four hours")
		}
		t.Logf("warnings: %d", w.logged("could not be read"))
	})
}
