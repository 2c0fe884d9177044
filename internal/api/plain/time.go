package plain

import (
	"time"

	"jjm/internal/jjm"
)

// Clock formats a time for people, in their time zone and with its name. It returns "-" for 0.
func Clock(t jjm.Time) string {
	if t == 0 {
		return "-"
	}
	return t.Time().Local().Format("2006-01-02 15:04:05 MST")
}

// Zoned returns the heading of a column of times with the time zone: "SINCE (CET)". A table has it in its first column
// of times.
func Zoned(column string) string { return ZonedAt(column, time.Now()) }

// ZonedAt is [Zoned] with the time zone of now.
func ZonedAt(column string, now time.Time) string { return column + " (" + now.Format("MST") + ")" }

// TableClock formats a time for a table, with its day and seconds, in the time zone of [Zoned]. It returns "-" for 0.
func TableClock(t jjm.Time) string { return TableClockAt(t, time.Now()) }

// TableClockAt is [TableClock] with the time zone of now.
func TableClockAt(t jjm.Time, now time.Time) string {
	if t == 0 {
		return "-"
	}
	return InZone(t, now).Format(time.DateTime)
}

// InZone returns a time with the offset from UTC that is in force now, because a table has only one time zone. For a
// time in the other half of the year, this may not be the offset that was in force then.
func InZone(t jjm.Time, now time.Time) time.Time { return t.Time().In(time.FixedZone(now.Zone())) }

// Stamp is [TableClock] for narrow columns: a time of today has no date, and a time of another day has no seconds.
func Stamp(t jjm.Time) string { return StampAt(t, time.Now()) }

// StampAt is [Stamp] with the day and the time zone of now.
func StampAt(t jjm.Time, now time.Time) string {
	if t == 0 {
		return "-"
	}
	at := InZone(t, now)
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format("2006-01-02 15:04")
}

// Milliseconds returns a duration in milliseconds as text for people.
func Milliseconds(n int64) string { return jjm.HowLong(time.Duration(n) * time.Millisecond) }
