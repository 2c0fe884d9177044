package plan

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// window returns a maintenance window of a cluster. It begins and ends the given numbers of hours after hour zero.
func window(from, until int) jjm.Order {
	return jjm.Order{Verb: jjm.OrderMaintenance, Kind: jjm.OrderCluster, Name: "farm", Reason: "new disks", By: "root",
		From: hour(from), Until: hour(until)}
}

func hour(n int) jjm.Time {
	return jjm.At(time.Unix(1_700_000_000, 0)).Add(time.Duration(n) * time.Hour)
}

// A window prevents a submission from its announcement on, or from the time at which the job would no longer end before
// it. The times stay the same once the window has begun.
func TestShutTimes(t *testing.T) {
	announced := window(10, 12)
	announced.Since = hour(2)
	asked := func(hours int) Stay { return Stay{Most: time.Duration(hours) * time.Hour, Text: "x"} }
	for name, c := range map[string]struct {
		stay         Stay
		now          jjm.Time
		since, until jjm.Time
	}{
		"it fits":                       {asked(3), hour(6), 0, 0},
		"it no longer fits":             {asked(3), hour(8), hour(7), hour(12)},
		"it never fitted":               {asked(9), hour(8), hour(2), hour(12)},
		"no walltime":                   {Stay{}, hour(8), hour(2), hour(12)},
		"it fitted before the window":   {asked(3), hour(11), hour(7), hour(12)},
		"the window is over":            {asked(3), hour(12), 0, 0},
		"no walltime inside the window": {Stay{}, hour(11), hour(2), hour(12)},
	} {
		if since, until := ShutTimes([]jjm.Order{announced}, c.stay, c.now); since != c.since || until != c.until {
			t.Errorf("%s: since %v until %v, want %v and %v", name, since, until, c.since, c.until)
		}
	}
}

func TestShut_OnlyWhatEndsBeforeAWindowIsSubmitted(t *testing.T) {
	asked := func(d time.Duration) Stay {
		return StayOf(jjm.Request{Walltime: jjm.Duration(d)}, time.Hour, time.Hour)
	}
	for name, c := range map[string]struct {
		windows []jjm.Order
		stay    Stay
		now     jjm.Time
		want    string // part of the reason; "" = nothing prevents the submission
	}{
		"no window":         {nil, asked(time.Hour), hour(0), ""},
		"ends before":       {[]jjm.Order{window(10, 12)}, asked(9 * time.Hour), hour(0), ""},
		"ends as it begins": {[]jjm.Order{window(10, 12)}, asked(10 * time.Hour), hour(0), ""},
		"ends a moment too late": {[]jjm.Order{window(10, 12)}, asked(10 * time.Hour), hour(0) + 1,
			"10 h requested would not end before"},
		"too long": {[]jjm.Order{window(10, 12)}, asked(12 * time.Hour), hour(0),
			": 12 h requested would not end before it; root announced it: new disks"},
		"the window has begun": {[]jjm.Order{window(10, 12)}, asked(time.Second), hour(10),
			"nothing is submitted until it is over"},
		"in its last moment": {[]jjm.Order{window(10, 12)}, asked(time.Second), hour(12) - 1,
			"nothing is submitted until it is over"},
		"the window is over":               {[]jjm.Order{window(10, 12)}, asked(100 * time.Hour), hour(12), ""},
		"the clock was set back before it": {[]jjm.Order{window(10, 12)}, asked(12 * time.Hour), hour(-24), ""},
		"the clock leapt over it":          {[]jjm.Order{window(10, 12)}, asked(12 * time.Hour), hour(1000), ""},
		"usual": {[]jjm.Order{window(10, 12)}, StayOf(jjm.Request{}, 11*time.Hour, 100*time.Hour), hour(0),
			"the 11 h that the cluster gives a job which requests no walltime would not end before it"},
		"usual, and short": {[]jjm.Order{window(10, 12)}, StayOf(jjm.Request{}, 9*time.Hour, 100*time.Hour), hour(0), ""},
		"the most": {[]jjm.Order{window(10, 12)}, StayOf(jjm.Request{}, 0, 11*time.Hour), hour(0),
			"no walltime is requested, and the 11 h that the cluster gives at most would not end before it"},
		"the most, and short": {[]jjm.Order{window(10, 12)}, StayOf(jjm.Request{}, 0, 9*time.Hour), hour(0), ""},
		"not known": {[]jjm.Order{window(10, 12)}, StayOf(jjm.Request{}, 0, 0), hour(0),
			"the cluster tells no default"},
		"not known, and far":  {[]jjm.Order{window(9000, 9001)}, Stay{}, hour(0), "the cluster tells no default"},
		"not known, and over": {[]jjm.Order{window(10, 12)}, Stay{}, hour(12), ""},
		"between two":         {[]jjm.Order{window(20, 21), window(10, 12)}, asked(8 * time.Hour), hour(12), ""},
		"between two, too long": {[]jjm.Order{window(20, 21), window(10, 12)}, asked(9 * time.Hour), hour(12),
			"from " + hour(20).Local() + " until " + hour(21).Local() + ": 9 h"},
		"the first of two tells": {[]jjm.Order{window(20, 21), window(10, 12)}, asked(30 * time.Hour), hour(0),
			"cluster farm has a maintenance window from " + hour(10).Local()},
		"two that overlap": {[]jjm.Order{window(10, 12), window(11, 14)}, asked(time.Hour), hour(13),
			"until " + hour(14).Local()},
	} {
		got := Shut(c.windows, c.stay, c.now)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// jjm never submits a job that could still run in a maintenance window. After the last window has ended, nothing is
// blocked any more.
func TestShut_InAWindowThereIsNoRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var windows []jjm.Order
		last := 0
		for range rapid.IntRange(0, 4).Draw(t, "windows") {
			from := rapid.IntRange(-5, 40).Draw(t, "from")
			until := from + rapid.IntRange(1, 20).Draw(t, "hours")
			windows, last = append(windows, window(from, until)), max(last, until)
		}
		lasts := time.Duration(rapid.IntRange(1, 50).Draw(t, "walltime")) * time.Hour
		now := hour(rapid.IntRange(-10, 60).Draw(t, "now"))
		open := Shut(windows, Stay{lasts, "x"}, now) == ""
		for _, w := range windows {
			if open && now < w.Until && now.Add(lasts) > w.From {
				t.Fatalf("submitted at %v for %v, and there is a window from %v until %v", now, lasts, w.From, w.Until)
			}
		}
		if !open && now >= hour(last) {
			t.Fatalf("shut at %v, and the last window was over at %v", now, hour(last))
		}
	})
}
