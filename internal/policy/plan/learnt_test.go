package plan

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestLearnt_HalvesGrowsAndIsForgotten(t *testing.T) {
	now := jjm.Time(1)
	most := func(l Learnt) int { m, _ := l.Most(now); return m }
	if most(Learnt{}) != 0 || most(Learnt{}.Accepted(5)) != 0 {
		t.Error("a limit that nobody told")
	}
	l := Refused(4, 6, "too many", now)
	if m, why := l.Most(now); m != 7 || why != "too many" {
		t.Errorf("limit %d, %q", m, why)
	}
	if got := most(l.Accepted(6)); got != 7 {
		t.Errorf("accepted below the limit: %d", got)
	}
	l = l.Accepted(7)
	grown := []int{most(l), most(l.Accepted(8)), most(l.Accepted(8).Accepted(10))}
	if !slices.Equal(grown, []int{8, 10, 14}) {
		t.Errorf("accepted at the limit: %v", grown)
	}
	if got := most(Refused(0, 1, "", now)); got != 1 {
		t.Errorf("one job refused: %d", got)
	}
	if n, since, until := l.Limit(now); n != 8 || since != now || until != now.Add(learntFor) {
		t.Errorf("limit %d, learnt %v, until %v", n, since, until)
	}
	now = now.Add(triedAfter)
	if got := most(l); got != 9 {
		t.Errorf("after a minute: %d", got)
	}
	now = now.Add(learntFor)
	if got := most(l); got != 0 {
		t.Errorf("after an hour: %d", got)
	}
	if n, since, until := l.Limit(now); n != 0 || since != 0 || until != 0 {
		t.Errorf("after an hour: limit %d, learnt %v, until %v", n, since, until)
	}
	now = jjm.Time(0) // the clock was set back
	if got := most(l); got != 0 {
		t.Errorf("set in the future: %d", got)
	}
}

// A limit begins with the first of the refusals between which it was never dropped.
func TestLearnt_BeginsWithTheFirstRefusal(t *testing.T) {
	refused := func(minutes int) Learnt {
		return Refused(4, 6, "too many", jjm.Time(1).Add(time.Duration(minutes)*time.Minute))
	}
	first := jjm.Time(1)
	l := refused(30).After(refused(0).After(Learnt{}))
	if l = l.Accepted(9); l.First(first.Add(time.Hour)) != first {
		t.Errorf("two refusals: since %v", l.First(first.Add(time.Hour)))
	}
	if got := refused(80).After(l).First(first.Add(81 * time.Minute)); got != first {
		t.Errorf("three refusals: since %v", got)
	}
	if got := refused(90).After(l).First(first.Add(91 * time.Minute)); got != first.Add(90*time.Minute) {
		t.Errorf("the limit was dropped before the last refusal: since %v", got)
	}
	if got := l.First(first.Add(90 * time.Minute)); got != 0 {
		t.Errorf("a dropped limit: since %v", got)
	}
}

// Whatever the limit of the batch system is, the account reaches it: some jobs can always be submitted while there is
// room, and a bounded number of refusals suffices.
func TestLearnt_FindsEveryLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, ready := rapid.IntRange(1, 300).Draw(t, "limit"), rapid.IntRange(1, 1000).Draw(t, "ready")
		bulk := rapid.IntRange(1, 400).Draw(t, "largest bulk")
		var l Learnt
		have, now := 0, jjm.Time(1)
		for refusals := 0; have < min(limit, ready); {
			n := min(bulk, ready-have)
			if m, _ := l.Most(now); m > 0 {
				n = min(n, m-have)
			}
			switch {
			case n < 1:
				t.Fatalf("nothing is submitted with %d jobs of %d", have, limit)
			case have+n > limit:
				if refusals++; refusals > 200 {
					t.Fatalf("%d refusals, and %d jobs of %d got in", refusals, have, limit)
				}
				l = Refused(have, n, "", now)
			default:
				have += n
				l = l.Accepted(have)
			}
			now = now.Add(time.Second)
		}
	})
}
