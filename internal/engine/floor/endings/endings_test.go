package endings

import (
	"testing"
	"time"

	"jjm/internal/jjm"
)

// If a batch job that has ended runs again (Revived) and ends again, the end of the attempt is the time of the second
// end. So jjm waits the full time for the result again.
func TestEndings_AWithdrawnEndDoesNotCount(t *testing.T) {
	t.Parallel()
	es, id := New(func(jjm.GridID) int { return 0 }), jjm.AttemptID{LocalID: jjm.LocalID{Grid: 1, N: 2}}
	first := jjm.At(time.Unix(1_000_000, 0))
	second := first.Add(time.Hour)
	over := jjm.Report{ID: "7", State: jjm.BatchEndedFailed}

	es.Report(id, over, first)
	es.Report(id, over, first.Add(time.Minute))
	if got := es.Copy(id, second).Ended; got != first {
		t.Errorf("told twice, it ended at %v, want %v", got, first)
	}
	es.Revived(id)
	if en := es.Copy(id, second); en.Ended != 0 || en.Report.State.Ended() {
		t.Errorf("it runs again and is over since %v: %+v", en.Ended, en.Report)
	}
	es.Report(id, over, second)
	if got := es.Copy(id, second).Ended; got != second {
		t.Errorf("it ended again at %v, want %v", got, second)
	}
}

// Beats returns the time since the heartbeat last changed, measured by the daemon's clock. It does not matter that the
// clock of the file system, which the heartbeat shows, is ahead.
func TestEndings_SilenceIsTheTimeWithoutAChange(t *testing.T) {
	t.Parallel()
	es, id := New(func(jjm.GridID) int { return 0 }), jjm.AttemptID{}
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
		if got := es.Beats(id, c.beat, now); got != c.want {
			t.Errorf("%d: silent for %v, want %v", i, got, c.want)
		}
	}
}

// Attempts become due in the order of their ids, whatever the order in which they ended. Each attempt gets its turn,
// even if earlier attempts are immediately due again.
func TestEndings_AreDueInOrderAndInTurn(t *testing.T) {
	t.Parallel()
	es, now := New(func(jjm.GridID) int { return 0 }), jjm.At(time.Unix(1_000_000, 0))
	const all, limit = 1000, 30
	for i := range all {
		es.Report(attempt(i*7%all), jjm.Report{State: jjm.BatchCancelled}, now)
	}
	for i := 0; i < 2*all; {
		ids := es.Due(0, now, limit)
		if want := min(limit, 2*all-i); len(ids) < want {
			t.Fatalf("%d are due, want %d", len(ids), limit)
		}
		for _, id := range ids {
			if want := attempt(i % all); id != want {
				t.Fatalf("turn %d: %v is due, want %v", i, id, want)
			}
			i++
		}
	}
}

func attempt(n int) jjm.AttemptID {
	return jjm.AttemptID{LocalID: jjm.LocalID{Grid: 1, N: int32(n)}}
}
