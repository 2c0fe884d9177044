package jjm

import "time"

// Time is an instant in milliseconds since 1970-01-01 UTC; 0 means "not yet".
// It is kept small because a hundred thousand live local jobs hold several.
type Time int64

// At converts a time.Time; the zero time.Time gives 0.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Time converts back, in UTC; 0 gives the zero time.Time.
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

// Duration is a time.Duration that reads and writes as text: "30s", "2h".
type Duration time.Duration

// D returns the time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes "1m30s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration reads; a negative duration is
// refused.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil || v < 0 {
		return Errorf(Invalid, "duration %.40q: want a number with a unit, such as 30s, 5m or 2h", b)
	}
	*d = Duration(v)
	return nil
}
