package jedi

import "math"

// DefaultEfficiency is the efficiency of a task that does not set it, in percent.
const DefaultEfficiency = 100

// JobWalltime returns the wall time in seconds that a job with a number of events requests from a queue:
//
//	CPUTime * events / Cores / CorePower / (Efficiency/100) / Copies + BaseWall
//
// A divisor of 0 is left out. A task without CPU time requests the longest time of the queue.
func (t *Task) JobWalltime(q *Queue, events int64) float64 {
	if !t.HS06 || t.CPUTime <= 0 {
		return q.MaxTime
	}
	wall := t.CPUTime * float64(events)
	power := q.CorePower
	if power == 0 {
		power = t.CorePower
	}
	for _, by := range []float64{q.Cores, power, t.Efficiency / 100, t.Copies} {
		if by > 0 {
			wall /= by
		}
	}
	return math.Trunc(wall + t.BaseWall)
}

// Span returns the number of events of a job's records. A record with unknown events counts as one.
func Span(records []Record) (n int64) {
	for i := range records {
		n += records[i].span()
	}
	return n
}
