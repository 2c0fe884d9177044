package jjm

// The urgency of local jobs, most urgent first.
const (
	urgentFailed = iota
	urgentHeld
	urgentRunning
	urgentQueued
	urgentWaiting
	urgentKilled
	urgentDone
	numUrgencies
)

// urgency returns the urgency of a local job: failed, held, running, queued in a batch system, waiting, killed or done.
// A local job that gave its work to other local jobs counts as done.
func urgency(s State, p Phase) int {
	switch {
	case s.IsCompleted() || p == GivenBack:
		return urgentDone
	case s == Failed || s == FailedFrozen:
		return urgentFailed
	case s == Held:
		return urgentHeld
	case s == Running || s == Completing:
		return urgentRunning
	case s == Killed:
		return urgentKilled
	case s == New || p == RetryWait:
		return urgentWaiting
	}
	return urgentQueued
}

// MostUrgent returns the indexes of n local jobs in the order of their urgency: failed, held, running, queued, waiting,
// killed, done. It returns only the positions from to from+most-1. Local jobs with the same urgency are in the order of
// their indexes. at returns the state and the phase of a local job.
func MostUrgent(n int, at func(i int) (State, Phase), from, most int) []int {
	var next [numUrgencies]int // the position of the next local job of each urgency
	for i := range n {
		if u := urgency(at(i)) + 1; u < numUrgencies {
			next[u]++
		}
	}
	for u := 1; u < numUrgencies; u++ {
		next[u] += next[u-1]
	}
	out := make([]int, max(min(most, n-from), 0))
	for i := range n {
		u := urgency(at(i))
		if at := next[u] - from; at >= 0 && at < len(out) {
			out[at] = i
		}
		next[u]++
	}
	return out
}
