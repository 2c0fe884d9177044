package jjm

import (
	"strconv"
	"time"
)

// Time is an instant in milliseconds since 1970-01-01 UTC; 0 means "not yet". It takes 8 bytes instead of the 24 bytes
// of a time.Time, because memory holds a hundred thousand local jobs with several times each.
type Time int64

// At converts a time.Time; the zero time.Time becomes 0.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Time converts back, in UTC; 0 becomes the zero time.Time.
func (t Time) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// Add returns t+d.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// String returns RFC 3339 in UTC with milliseconds, or "" for 0.
func (t Time) String() string {
	if t == 0 {
		return ""
	}
	return t.Time().Format("2006-01-02T15:04:05.000Z")
}

// Local returns the time in the time zone of this process, with the name of the zone: "2026-12-01 08:00 CET"; with
// seconds only if they are not 0; "" for 0.
func (t Time) Local() string {
	switch {
	case t == 0:
		return ""
	case t%60_000 == 0:
		return t.Time().Local().Format("2006-01-02 15:04 MST")
	}
	return t.Time().Local().Format("2006-01-02 15:04:05 MST")
}

// Duration is a time.Duration that is stored and shown as text: "30s", "2h".
type Duration time.Duration

// D returns the time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String returns the duration as one number with the largest unit that makes it whole: "90s", "2h".
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}} {
		if d.D()%u.unit == 0 {
			return strconv.FormatInt(int64(d.D()/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

// MarshalText returns "1m30s", the form of time.Duration, so that stored texts stay the same.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.D().String()), nil }

// UnmarshalText reads the form of time.ParseDuration. It returns an error for a negative duration.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil || v < 0 {
		return Errorf(Invalid, "duration %.40q: want a number with a unit, such as 30s, 5m or 2h", b)
	}
	*d = Duration(v)
	return nil
}
