package engine

import (
	"testing"
	"time"

	"jjm"
)

// A batch job that ended, runs again and ends again has an end of its own: its
// result has the whole time from there.
func TestEndings_AnEndThatWasTakenBackDoesNotCount(t *testing.T) {
	t.Parallel()
	es, id := newEndings(func(jjm.GridID) int { return 0 }), jjm.AttemptID{LocalID: jjm.LocalID{Grid: 1, N: 2}}
	first := jjm.At(time.Unix(1_000_000, 0))
	second := first.Add(time.Hour)
	over := jjm.Report{ID: "7", State: jjm.BatchEndedFailed}

	es.report(id, over, first)
	es.report(id, over, first.Add(time.Minute))
	if got := es.copy(id, second).ended; got != first {
		t.Errorf("told twice, it ended at %v, want %v", got, first)
	}
	es.revived(id)
	if en := es.copy(id, second); en.ended != 0 || en.report.State.Ended() {
		t.Errorf("it runs again and is over since %v: %+v", en.ended, en.report)
	}
	es.report(id, over, second)
	if got := es.copy(id, second).ended; got != second {
		t.Errorf("it ended again at %v, want %v", got, second)
	}
}

// A wrapper that beats is told by changes of its heartbeat alone: how its file
// system's clock stands to ours does not matter.
func TestEndings_SilenceIsTheTimeWithoutAChange(t *testing.T) {
	t.Parallel()
	es, id := newEndings(func(jjm.GridID) int { return 0 }), jjm.AttemptID{}
	now := jjm.At(time.Unix(1_000_000, 0))
	ahead := time.Unix(9_000_000, 0)
	for i, c := range []struct {
		beat  time.Time
		after time.Duration
		want  time.Duration
	}{
		{ahead, 0, 0},
		{ahead, 40 * time.Second, 40 * time.Second},
		{ahead.Add(time.Second), 10 * time.Second, 0},
		{ahead.Add(time.Second), 59 * time.Second, 59 * time.Second},
	} {
		now = now.Add(c.after)
		if got := es.beats(id, c.beat, now); got != c.want {
			t.Errorf("%d: silent for %v, want %v", i, got, c.want)
		}
	}
}
