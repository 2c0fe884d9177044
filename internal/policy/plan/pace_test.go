package plan_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

func TestPace_CasesToRead(t *testing.T) {
	noon := jjm.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	ago := func(d time.Duration) jjm.Time { return noon - jjm.Time(d.Milliseconds()) }
	for what, c := range map[string]struct {
		p    plan.Pace
		want time.Duration // until the end, 0 = unknown
	}{
		"120 an hour, 280 left": {plan.Pace{Began: ago(9 * time.Hour), Ended: 120, Left: 280},
			140 * time.Minute},
		"60 in the 20 minutes since it began": {plan.Pace{Began: ago(20 * time.Minute), Ended: 60, Left: 30},
			10 * time.Minute},
		"just an hour":                   {plan.Pace{Began: ago(time.Hour), Ended: 10, Left: 1}, 6 * time.Minute},
		"too few ended":                  {plan.Pace{Began: ago(time.Hour), Ended: 9, Left: 100}, 0},
		"none ended":                     {plan.Pace{Began: ago(time.Hour), Left: 100}, 0},
		"none left":                      {plan.Pace{Began: ago(time.Hour), Ended: 100}, 0},
		"less than none left":            {plan.Pace{Began: ago(time.Hour), Ended: 100, Left: -1}, 0},
		"none began":                     {plan.Pace{Ended: 100, Left: 1}, 0},
		"began now":                      {plan.Pace{Began: noon, Ended: 100, Left: 1}, 0},
		"began by a clock that is ahead": {plan.Pace{Began: noon + 1, Ended: 100, Left: 1}, 0},
		"a hundred thousand left": {plan.Pace{Began: ago(24 * time.Hour), Ended: 10, Left: 100_000},
			10_000 * time.Hour},
	} {
		c.p.Now = noon
		want := jjm.Time(0)
		if c.want != 0 {
			want = noon + jjm.Time(c.want.Milliseconds())
		}
		if got := c.p.End(); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	if got := plan.PaceSince(noon); got != ago(time.Hour) {
		t.Errorf("counted since %v", got)
	}
}

// The estimated end is not earlier if more local jobs are left, and not later if more local jobs have ended. It is
// never in the past.
func TestPace_IsMonotonous(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plan.Pace{Now: 1 << 40, Began: 1<<40 - jjm.Time(rapid.Int64Range(1, 1<<32).Draw(t, "ago")),
			Ended: rapid.IntRange(10, 1_000_000).Draw(t, "ended"), Left: rapid.IntRange(1, 1_000_000).Draw(t, "left")}
		more, faster := p, p
		more.Left++
		faster.Ended++
		if end := p.End(); end < p.Now || more.End() < end || faster.End() > end {
			t.Fatalf("%+v ends at %v, one more at %v, faster at %v", p, end, more.End(), faster.End())
		}
	})
}
