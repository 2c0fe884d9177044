package plan

import "time"

// Watched is the clock by which absences and holds age: for how long a batch
// system has been seen to be well. It stands still during an outage, while the
// daemon is down, and when somebody sets the clock: nothing was seen then.
type Watched struct {
	// For is the sum so far; only differences mean anything.
	For time.Duration
	// well is set while the last listing was a good one.
	well bool
}

// Listed counts a healthy listing, asked for so long after the one before. Time
// counts between two healthy listings with no failed one between them, and at
// most so much as listings may be apart: more is a jump of the clock.
func (w Watched) Listed(since, most time.Duration) Watched {
	if w.well {
		w.For += min(max(since, 0), most)
	}
	w.well = true
	return w
}

// Failed notes a listing that gave no answer.
func (w Watched) Failed() Watched {
	w.well = false
	return w
}
