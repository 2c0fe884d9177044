package plan

import "slices"

// Load counts the local jobs of a batch system. Pending counts local jobs that wait there or are about to
// be submitted.
type Load struct{ Pending, Running int }

// Plus returns the sum of two loads.
func (l Load) Plus(m Load) Load { return Load{l.Pending + m.Pending, l.Running + m.Running} }

// Bounds limit a load; 0 means no limit.
type Bounds struct {
	// Pending bounds the waiting local jobs.
	Pending int
	// Running bounds the running local jobs. Since a waiting local job may start at any moment, Running bounds the sum of
	// the waiting and running local jobs.
	Running int
	// Queued bounds the sum of the waiting and running local jobs. Many batch systems have this limit for each account.
	Queued int
}

// Bound identifies a field of Bounds.
type Bound uint8

// The bounds, in the order of their fields.
const (
	BoundPending Bound = iota
	BoundRunning
	BoundQueued
)

// Limit is a bound that is set, with the number of local jobs that count against the bound.
type Limit struct {
	Bound      Bound
	Have, Most int
}

// limits returns the bounds that are set, each with the local jobs of the load that count against the bound.
func limits(l Load, b Bounds) []Limit {
	all := []Limit{
		{BoundPending, l.Pending, b.Pending},
		{BoundRunning, l.Pending + l.Running, b.Running},
		{BoundQueued, l.Pending + l.Running, b.Queued},
	}
	return slices.DeleteFunc(all, func(l Limit) bool { return l.Most <= 0 })
}

// Room returns how many more local jobs may be submitted within the bounds. It is at least 0, and the largest int if no
// bound is set. The bounds hold for every order in which the batch system may start waiting local jobs.
func Room(l Load, b Bounds) int {
	room := int(^uint(0) >> 1)
	for _, limit := range limits(l, b) {
		room = min(room, max(limit.Most-limit.Have, 0))
	}
	return room
}

// Full returns the first limit that leaves no room, false if Room is not 0.
func Full(l Load, b Bounds) (Limit, bool) {
	all := limits(l, b)
	i := slices.IndexFunc(all, func(limit Limit) bool { return limit.Have >= limit.Most })
	if i < 0 {
		return Limit{}, false
	}
	return all[i], true
}
