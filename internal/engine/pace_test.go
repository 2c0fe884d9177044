package engine_test

import (
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// While a grid job runs, jjm estimates its end from the rate at which its local jobs end. There is no estimate before
// some local jobs have ended, none for a grid job that is paused or over, and none for held local jobs.
func TestExpectedEnd_ComesFromTheRateOfTheLastHour(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Duration(id.N+1) * 5 * time.Minute}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(36))
		done := func(n int) func() bool {
			return func() bool { return w.status(id).Lookup.Counts.Completed >= n }
		}
		w.until(time.Hour, "9 are done", done(9))
		if e := w.status(id).ExpectedEnd; e != nil {
			t.Errorf("after 9: %+v", e)
		}
		w.until(time.Hour, "11 are done", done(11))
		e := w.status(id).ExpectedEnd
		if e == nil || e.Ended != 11 || e.Within.D() > time.Hour || e.Within.D() < 54*time.Minute {
			t.Errorf("after 11: %+v", e)
		}
		w.until(3*time.Hour, "30 are done", done(30))
		early := w.status(id).ExpectedEnd
		if early == nil || early.Within.D() != time.Hour || early.Ended < 11 || early.Ended > 13 {
			t.Fatalf("after 30: %+v", early)
		}
		all, err := w.engine.List(t.Context(), alice, wire.List{})
		if err != nil || len(all) != 1 || all[0].ExpectedEnd != nil {
			t.Errorf("the list: %+v, %v", all, err)
		}
		w.final(24*time.Hour, id)
		st := w.status(id)
		if off := st.Ended.Time().Sub(early.At.Time()); st.ExpectedEnd != nil || off.Abs() > 6*time.Minute {
			t.Errorf("it ended %v after what was expected, and now expects %+v", off, st.ExpectedEnd)
		}
	})
}
