package main

import (
	"testing"
	"time"

	"jjm/internal/jjm"
)

// The value of a flag for a time has a last part: a minute, a second or a day. The value means all of this minute,
// second or day, but no time after now.
func TestInThePast_ATimeLastsAsLongAsItsLastPart(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)
	at := func(day, hour, minute, second, ms int) jjm.Time {
		return jjm.At(time.Date(2026, 3, day, hour, minute, second, ms*int(time.Millisecond), time.UTC))
	}
	for text, want := range map[string][2]jjm.Time{
		"03:10":                    {at(1, 3, 10, 0, 0), at(1, 3, 10, 59, 999)},
		"03:10:07":                 {at(1, 3, 10, 7, 0), at(1, 3, 10, 7, 999)},
		"23:59":                    {at(0, 23, 59, 0, 0), at(0, 23, 59, 59, 999)}, // yesterday
		"2026-03-01 03:10":         {at(1, 3, 10, 0, 0), at(1, 3, 10, 59, 999)},
		"2026-03-01T03:10:07":      {at(1, 3, 10, 7, 0), at(1, 3, 10, 7, 999)},
		"2026-03-01T03:10:07Z":     {at(1, 3, 10, 7, 0), at(1, 3, 10, 7, 999)},
		"2026-03-01T03:10:07.250Z": {at(1, 3, 10, 7, 250), at(1, 3, 10, 7, 250)},
		"2026-03-01":               {at(1, 0, 0, 0, 0), jjm.At(now)},
		"12:00":                    {at(1, 12, 0, 0, 0), jjm.At(now)},
	} {
		if from, until, err := inThePast("--at", text, now); err != nil || from != want[0] || until != want[1] {
			t.Errorf("%s: %v to %v, want %v to %v; error %v", text, from, until, want[0], want[1], err)
		}
	}
	for _, text := range []string{"tomorrow", "2999-01-01", "1960-01-01", "25:00", ""} {
		if _, _, err := inThePast("--at", text, now); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
