package command

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// layoutEpoch is the layout for seconds since 1970.
const layoutEpoch = "epoch"

// times describes how a batch system writes times.
type times struct {
	layouts []string       // layouts of package time, or layoutEpoch
	suffix  *regexp.Regexp // matches text that may follow a time
	zone    *time.Location
	// resolution is the smallest step of written times: the real time is later than the written time by less than
	// resolution.
	resolution time.Duration
}

// parse parses a time; an empty text is 0. If the layout has no year, parse chooses the latest year in which the time
// is not later than tomorrow. It allows a day in the future because listings may show the expected start of a job, and
// because clocks differ. parse returns an error if no layout fits.
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
			at = withYear(at, now.In(t.zone), t.zone)
		}
		return jjm.At(at), nil
	}
	return 0, fmt.Errorf("time %.60q is of none of the layouts %q", text, t.layouts)
}

// withYear sets the year of a date without a year. It chooses the latest year in which the date is not later than
// tomorrow.
func withYear(at, now time.Time, zone *time.Location) time.Time {
	year := now.Year() + 1
	for {
		full := time.Date(year, at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, zone)
		// In other years the 29th of February becomes a day in March.
		if !full.After(now.AddDate(0, 0, 1)) && full.Day() == at.Day() || year < now.Year()-8 {
			return full
		}
		year--
	}
}

// write returns a time in a layout, in the form that parse reads.
func write(at time.Time, layout string, zone *time.Location) string {
	if layout == layoutEpoch {
		return strconv.FormatInt(at.Unix(), 10)
	}
	return at.In(zone).Format(layout)
}
