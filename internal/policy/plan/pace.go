package plan

import (
	"time"

	"jjm/internal/jjm"
)

const (
	// paceOver is the time over which the pace of a grid job is measured.
	paceOver = time.Hour
	// leastEnded is the number of local jobs that must have ended in that time. With 10 ends at random times, their
	// rate is known to about a third.
	leastEnded = 10
)

// Pace holds the facts about the rate at which the local jobs of a grid job ended recently.
type Pace struct {
	Now jjm.Time
	// Began is the time at which the first local job of the grid job started, 0 if none has started.
	Began jjm.Time
	// Ended is the number of local jobs that ended by themselves since PaceSince. Left is the number of local jobs that
	// have not ended.
	Ended, Left int
}

// PaceSince returns the time from which ended local jobs count for the pace.
func PaceSince(now jjm.Time) jjm.Time { return now - jjm.Time(paceOver.Milliseconds()) }

// Within returns the length of the time over which the pace is measured: an hour, or less if the
// first local job started later.
func (p Pace) Within() time.Duration {
	return min(paceOver, p.Now.Time().Sub(p.Began.Time()))
}

// End returns an estimate of the time at which the last local job will have ended at the present pace. It returns 0 if
// no local job is left, or if too few local jobs have ended.
func (p Pace) End() jjm.Time {
	within := p.Within().Milliseconds()
	if p.Began == 0 || p.Left <= 0 || p.Ended < leastEnded || within <= 0 {
		return 0
	}
	return p.Now + jjm.Time(within*int64(p.Left)/int64(p.Ended))
}
