package plain

import (
	"fmt"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// ExpectedEnd returns the expected end of a grid job, and what the estimate is based on: "about 14:20, by the 120
// local jobs that ended in the last hour". It returns "" for nil.
func ExpectedEnd(e *wire.ExpectedEnd, now time.Time) string {
	if e == nil {
		return ""
	}
	last := jjm.HowLong(e.Within.D())
	if e.Within.D() == time.Hour {
		last = "hour"
	}
	text := fmt.Sprintf("%s, by the %s that ended in the last %s", RoughEnd(e, now), jjm.Count(e.Ended, "local job"), last)
	if e.Held > 0 {
		text += fmt.Sprintf("; without %s", jjm.Count(e.Held, "held one"))
	}
	return text
}

// RoughEnd returns the expected end of a grid job without the basis of the estimate: "about 14:20". It returns "" for
// nil.
func RoughEnd(e *wire.ExpectedEnd, now time.Time) string {
	if e == nil {
		return ""
	}
	return "about " + minuteAt(e.At, now)
}

// minuteAt returns a time to the minute, without the date if it is today.
func minuteAt(t jjm.Time, now time.Time) string {
	at := t.Time().In(now.Location())
	if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		return at.Format("2006-01-02 15:04")
	}
	return at.Format("15:04")
}
