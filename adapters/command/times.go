package command

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"jjm"
)

// layoutEpoch stands for seconds since 1970.
const layoutEpoch = "epoch"

// times is how a batch system writes times.
type times struct {
	layouts []string       // of package time, or layoutEpoch
	suffix  *regexp.Regexp // of what may stand behind a time
	zone    *time.Location
	// resolution is the smallest step: a time is up to that much later than it
	// is written.
	resolution time.Duration
}

// parse returns 0 for an empty text. A layout without a year means the last such
// day that is not in the future; a day of grace is for jobs that are expected
// to start, and for clocks that differ.
func (t times) parse(text string, now time.Time) (jjm.Time, error) {
	if text == "" {
		return 0, nil
	}
	text = strings.Join(strings.Fields(t.suffix.ReplaceAllString(text, "")), " ")
	for _, layout := range t.layouts {
		if layout == layoutEpoch {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n < 1<<40 {
				return jjm.At(time.Unix(n, 0)), nil
			}
			continue
		}
		at, err := time.ParseInLocation(layout, text, t.zone)
		if err != nil {
			continue
		}
		if at.Year() == 0 {
			at = lastYear(at, now.In(t.zone), t.zone)
		}
		return jjm.At(at), nil
	}
	return 0, fmt.Errorf("time %.60q is of none of the layouts %q", text, t.layouts)
}

// lastYear puts a day and time without a year into the last year in which it
// is not later than tomorrow.
func lastYear(at, now time.Time, zone *time.Location) time.Time {
	year := now.Year() + 1
	for {
		full := time.Date(year, at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, zone)
		// The 29th of February turns into March in other years.
		if !full.After(now.AddDate(0, 0, 1)) && full.Day() == at.Day() || year < now.Year()-8 {
			return full
		}
		year--
	}
}

// write is the opposite of parse.
func write(at time.Time, layout string, zone *time.Location) string {
	if layout == layoutEpoch {
		return strconv.FormatInt(at.Unix(), 10)
	}
	return at.In(zone).Format(layout)
}
