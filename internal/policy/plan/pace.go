package plan

import (
	"time"

	"jjm/internal/jjm"
)

const (
	// paceOver is over how long the pace of a grid job is taken.
	paceOver = time.Hour
	// leastEnded is how many local jobs have to end in that time: of 10 that end at random
	// times the rate is known to a third.
	leastEnded = 10
)

// Pace is how fast a grid job came forward of late.
type Pace struct {
	Now jjm.Time
	// Began is when the first of its local jobs started, 0 if none has.
	Began jjm.Time
	// Ended is how many local jobs have ended by themselves since PaceSince, Left how many
	// still have to.
	Ended, Left int
}

// PaceSince is from when on local jobs that ended count for the pace.
func PaceSince(now jjm.Time) jjm.Time { return now - jjm.Time(paceOver.Milliseconds()) }

// Within returns how long the time is over which the pace is taken: the last hour, or since the
// first local job started.
func (p Pace) Within() time.Duration {
	return min(paceOver, p.Now.Time().Sub(p.Began.Time()))
}

// End returns when the last local job will have ended if the pace stays as it is, roughly: 0
// if nothing is left, or if too few ended to tell.
func (p Pace) End() jjm.Time {
	within := p.Within().Milliseconds()
	if p.Began == 0 || p.Left <= 0 || p.Ended < leastEnded || within <= 0 {
		return 0
	}
	return p.Now + jjm.Time(within*int64(p.Left)/int64(p.Ended))
}
