package jjm

import (
	"fmt"
	"strings"
	"time"
)

// Count returns a number with its noun: "1 check", "18 checks". The plural is one + "s", unless many contains another
// plural.
func Count[N int | int32 | int64](n N, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// AnyOf returns the possible choices: "stdout, stderr or glf".
func AnyOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// HowLong returns a duration in at most two units: "2 h 5 min", "40 s", "1.5 s", "250 ms". Less than a millisecond
// counts as 0.
func HowLong(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 0 {
		return "-" + HowLong(-d)
	}
	switch d = d.Round(time.Millisecond); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second && d%time.Second >= 50*time.Millisecond && d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return units(d, time.Minute, "min", time.Second, "s")
	}
	switch d = d.Round(time.Minute); {
	case d < time.Hour:
		return units(d, time.Minute, "min", time.Second, "s")
	case d < 2*day:
		return units(d, time.Hour, "h", time.Minute, "min")
	}
	return units(d.Round(time.Hour), day, "d", time.Hour, "h")
}

// units returns a duration in a large and a small unit. The small unit is left out if its number is 0.
func units(d, large time.Duration, name string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d %s", d/large, name)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}
