package plan

import "time"

// Watched is the clock by which the age of absences and holds is measured: how long a batch system
// has been observed. It stands still during an outage, while the daemon is down, and over jumps of
// the system clock, because nothing was observed then.
type Watched struct {
	// For is the time so far; only differences have a meaning.
	For time.Duration
	// listed says that the last listing succeeded.
	listed bool
}

// Listed returns the clock after a successful listing, which was asked for the time since after the
// listing before. The time between two successful listings counts if no listing between them failed,
// but at most most, the longest time that listings may be apart: more is a jump of the clock.
func (w Watched) Listed(since, most time.Duration) Watched {
	if w.listed {
		w.For += min(max(since, 0), most)
	}
	w.listed = true
	return w
}

// Failed returns the clock after a failed listing.
func (w Watched) Failed() Watched {
	w.listed = false
	return w
}
