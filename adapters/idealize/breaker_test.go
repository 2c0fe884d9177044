package idealize

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The test drives the state machine with overlapping calls: each call is admitted at one time and reports its outcome
// later.
func TestBreaker_RandomOverlappingCallsKeepItsRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := breaker{
			limit: rapid.IntRange(0, 3).Draw(t, "limit"), cheap: rapid.Bool().Draw(t, "cheap"),
			first: 10 * time.Second, max: 2 * time.Minute,
		}
		now := time.Unix(1_000_000, 0)
		var under []int // for each call in progress: its number if the call is a probe, 0 for any other call
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 15).Draw(t, "after")) * time.Second)
			if len(under) > 0 && rapid.Bool().Draw(t, "ends") {
				under = endOne(t, &b, now, under)
				continue
			}
			verb := rapid.SampledFrom([]Verb{Submit, List, Find, Control, Probe}).Draw(t, "verb")
			before := b
			probe, err := b.admit(now, verb)
			switch {
			case err == nil && before.state == Closed && probe != 0:
				t.Fatal("a closed breaker probes")
			case err != nil && before.state == Closed:
				t.Fatal("a closed breaker refuses")
			case err == nil && before.state != Closed && probe == 0:
				t.Fatal("a breaker that is not closed lets a call pass that is no probe")
			case probe != 0 && (now.Before(before.next) || before.probing != 0):
				t.Fatalf("a probe too early, or a second one: %+v", before)
			case probe != 0 && !b.cheap && (verb == Submit || verb == Find):
				t.Fatalf("%v was used to find out", verb)
			}
			if err == nil {
				under = append(under, probe)
			}
		}
		if b.limit == 0 && b.state != Closed {
			t.Fatal("a breaker without a limit opened")
		}
		if wait := b.next.Sub(now); wait > b.max {
			t.Fatalf("the next probe is in %v: want at most %v", wait, b.max)
		}
	})
}

// endOne makes one of the calls in progress report its outcome.
func endOne(t *rapid.T, b *breaker, now time.Time, under []int) []int {
	i := rapid.IntRange(0, len(under)-1).Draw(t, "which")
	h := rapid.SampledFrom([]health{healthUnknown, responded, noResponse, noResponse, noResponse}).Draw(t, "hears")
	before := *b
	began := now.Add(-time.Duration(rapid.IntRange(0, 60).Draw(t, "took")) * time.Second)
	b.note(began, now, h, under[i], errors.New("no answer"))
	switch {
	case h == responded && (b.state != Closed || b.failures != 0):
		t.Fatalf("an answer leaves it %v with %d failures", b.state, b.failures)
	case h == noResponse && b.limit > 0 && b.state == Closed && b.failures >= b.limit:
		t.Fatalf("%d failures in a row leave it closed", b.failures)
	case h == healthUnknown && under[i] == 0 && *b != before:
		t.Fatal("a call that says nothing changes something")
	case b.state != Closed && b.cause == "":
		t.Fatal("an open breaker has no cause")
	}
	return append(under[:i:i], under[i+1:]...)
}

// Calls that hang during one freeze do not open the breaker; calls that hang one after another do.
func TestBreaker_OneFreezeCountsOnce(t *testing.T) {
	for _, tt := range []struct {
		name     string
		starts   []int // start times of the calls, in seconds; each call takes half a minute
		failures int
		refused  bool // whether a call immediately after the last one is refused
	}{
		{"at once", []int{0, 0, 0}, 1, false},
		{"overlapping", []int{0, 10, 29}, 1, false},
		{"in a row", []int{0, 30, 60}, 3, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := breaker{limit: 3, first: 10 * time.Second, max: 2 * time.Minute}
			at := func(second int) time.Time { return time.Unix(1_000_000, 0).Add(time.Duration(second) * time.Second) }
			for i, second := range tt.starts {
				b.note(at(second), at(second+30), noResponse, 0, errors.New("no answer"))
				if i < 2 && b.state != Closed {
					t.Errorf("%v after call %d", b.state, i)
				}
			}
			end := at(tt.starts[len(tt.starts)-1] + 30)
			if _, err := b.admit(end, List); b.failures != tt.failures || (err != nil) != tt.refused {
				t.Errorf("%d failures, want %d; the next call is refused with %v, want %v", b.failures, tt.failures, err, tt.refused)
			}
		})
	}
}
