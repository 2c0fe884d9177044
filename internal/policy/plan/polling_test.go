package plan

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPolling_TheIntervalGrowsWithTheTimeOfAListing(t *testing.T) {
	p := Polling{Poll: 10 * time.Second, Max: 5 * time.Minute}
	hints := Polling{Poll: 10 * time.Second, Max: 5 * time.Minute, Hints: true}
	for _, c := range []struct {
		name              string
		p                 Polling
		took, every, soon time.Duration
		result            time.Duration
	}{
		{"nothing measured yet", p, 0, 10 * time.Second, time.Second, 2500 * time.Millisecond},
		{"quick", p, 200 * time.Millisecond, 10 * time.Second, time.Second, 2500 * time.Millisecond},
		{"ten thousand jobs", p, 3 * time.Second, 30 * time.Second, 6 * time.Second, 30 * time.Second},
		{"almost frozen", p, 90 * time.Second, 5 * time.Minute, 3 * time.Minute, 5 * time.Minute},
		{"hints", hints, 10 * time.Millisecond, 10 * time.Second, 250 * time.Millisecond, 10 * time.Second},
		{"hints, slow", hints, 3 * time.Second, 30 * time.Second, 6 * time.Second, 30 * time.Second},
		{"short interval", Polling{Poll: 50 * time.Millisecond, Max: time.Second}, 0, 50 * time.Millisecond,
			50 * time.Millisecond, 50 * time.Millisecond},
	} {
		every, soon, result := c.p.Every(c.took), c.p.Soon(c.took), c.p.AfterResult(c.took)
		if every != c.every || soon != c.soon || result != c.result {
			t.Errorf("%s: every %v, soon %v, after a result %v: want %v, %v and %v", c.name, every, soon, result, c.every,
				c.soon, c.result)
		}
	}
}

func TestPolling_StaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Millisecond
		}
		p := Polling{Poll: time.Millisecond + d("poll", 60_000), Hints: rapid.Bool().Draw(t, "hints")}
		p.Max = p.Poll + d("max", 600_000)
		took := d("took", 120_000)
		every, soon := p.Every(took), p.Soon(took)
		if every < p.Poll || every > p.Max {
			t.Errorf("every %v is outside of %v to %v", every, p.Poll, p.Max)
		}
		if soon <= 0 || soon > every {
			t.Errorf("soon %v, every %v", soon, every)
		}
		if result := p.AfterResult(took); result < soon || result > every || p.Hints && result != every {
			t.Errorf("after a result %v, soon %v, every %v", result, soon, every)
		}
		if slower := p.Every(took + time.Second); slower < every {
			t.Errorf("a slower listing comes sooner: %v after %v", slower, every)
		}
	})
}

func TestPolling_AListingIsWorthTheResultsThatWait(t *testing.T) {
	for _, c := range []struct {
		waiting, inBatch int
		worth            bool
	}{
		{0, 0, false}, {0, 10, false}, {1, 1, true}, {1, 50, true}, {1, 51, false}, {1000, 100_000, false},
		{2000, 100_000, true},
	} {
		if got := Worth(c.waiting, c.inBatch); got != c.worth {
			t.Errorf("%d results of %d jobs: %t", c.waiting, c.inBatch, got)
		}
	}
}

func TestPolling_OneSlowListingChangesNothing(t *testing.T) {
	for _, c := range []struct{ before, last, want time.Duration }{
		{-1, time.Second, time.Second}, {0, time.Second, 0}, {time.Second, 9 * time.Second, time.Second},
		{9 * time.Second, 8 * time.Second, 8 * time.Second},
	} {
		if got := Took(c.before, c.last); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.before, c.last, got, c.want)
		}
	}
}
