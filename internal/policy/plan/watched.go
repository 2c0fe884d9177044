package plan

import "time"

// Watched is the clock by which the age of absences and holds is measured: for how long a batch
// system has been observed. It stands still during an outage, while the daemon is down, and
// over jumps of the system clock, because nothing was observed then.
type Watched struct {
	// For is the time so far; only differences have a meaning.
	For time.Duration
	// listed says that the last listing succeeded.
	listed bool
}

// Listed returns the clock after a successful listing, asked for since after the one before.
// Time counts between two successful listings without a failed one between them, at most the
// time most that listings may be apart: more is a jump of the clock.
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
