package outage

import (
	"testing"
	"time"

	"jjm/internal/jjm"
)

// The entry about the end of an outage has the time at which this outage began. A short outage between two rounds of
// listings does not change the time, whether it is over or lasts.
func TestOutage_TheEndHasTheTimeOfItsBeginning(t *testing.T) {
	t0 := jjm.At(time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC))
	second := t0.Add(10 * time.Minute)
	for _, c := range []struct {
		name      string
		o         outage
		journaled jjm.Time
		now       jjm.Time
		want      jjm.JournalEntry
		next      jjm.Time
	}{
		{"well", outage{"", 0}, 0, second, jjm.JournalEntry{}, 0},
		{"a young outage", outage{"x", t0}, 0, t0.Add(outageShown - time.Second), jjm.JournalEntry{}, 0},
		{"an outage", outage{"x", t0}, 0, t0.Add(outageShown), jjm.Outage("c", t0, "x"), t0},
		{"it lasts, for another reason", outage{"y", t0}, t0, second, jjm.JournalEntry{}, t0},
		{"it is over", outage{"", t0}, t0, second, jjm.Outage("c", t0, ""), 0},
		{"a second outage came and went", outage{"", second}, t0, second.Add(time.Second), jjm.Outage("c", t0, ""), 0},
		{"a second outage lasts", outage{"x", second}, t0, second.Add(time.Hour), jjm.Outage("c", t0, ""), 0},
		{"then the second outage", outage{"x", second}, 0, second.Add(time.Hour), jjm.Outage("c", second, "x"), second},
	} {
		en, next, write := c.o.entry("c", c.journaled, c.now)
		if en != c.want || next != c.next || write != (c.want != jjm.JournalEntry{}) {
			t.Errorf("%s: %+v, next %v, %t\nwant %+v, next %v", c.name, en, next, write, c.want, c.next)
		}
	}
}
