package plain

import (
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

func TestExpectedEnd_SaysByWhat(t *testing.T) {
	now := time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
	at := func(d time.Duration) jjm.Time { return jjm.At(now.Add(d)) }
	hour := jjm.Duration(time.Hour)
	for want, e := range map[string]*wire.ExpectedEnd{
		"": nil,
		"about 14:20, by the 120 local jobs that ended in the last hour": {At: at(80 * time.Minute), Ended: 120,
			Within: hour},
		"about 2026-03-02 01:00, by the 10 local jobs that ended in the last 12 min": {At: at(12 * time.Hour), Ended: 10,
			Within: jjm.Duration(12 * time.Minute)},
		"about 13:00, by the 10 local jobs that ended in the last hour; without 1 held one": {At: at(0), Ended: 10,
			Within: hour, Held: 1},
		"about 13:00, by the 10 local jobs that ended in the last hour; without 3 held ones": {At: at(0), Ended: 10,
			Within: hour, Held: 3},
	} {
		if got := ExpectedEnd(e, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
