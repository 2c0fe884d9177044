package plan

import "time"

// Watched is the clock that measures the age of absences and holds: the time for which a batch system has been
// observed. It stops during an outage, while the daemon is down, and over jumps of the system clock, because nothing is
// observed then.
type Watched struct {
	// For is the time so far; only differences have a meaning.
	For time.Duration
	// listed is true if the last listing succeeded.
	listed bool
}

// Listed returns the clock after a successful listing. since is the time between the requests for the previous listing
// and for this listing. If the previous listing also succeeded, since is added to For, but at most limit, because a
// longer time means that the system clock jumped.
func (w Watched) Listed(since, limit time.Duration) Watched {
	if w.listed {
		w.For += min(max(since, 0), limit)
	}
	w.listed = true
	return w
}

// Failed returns the clock after a failed listing.
func (w Watched) Failed() Watched {
	w.listed = false
	return w
}
