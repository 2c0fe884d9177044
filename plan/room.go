package plan

// Load is how many local jobs are in a batch system: waiting there, or about to
// be, and running.
type Load struct{ Pending, Running int }

// Plus adds two loads.
func (l Load) Plus(m Load) Load { return Load{l.Pending + m.Pending, l.Running + m.Running} }

// Bounds limit a load; 0 is no limit.
type Bounds struct {
	// Pending bounds those that wait.
	Pending int
	// Running bounds those that run. What waits may start at any moment, so it
	// bounds both together.
	Running int
	// Queued bounds both together, as a batch system bounds what one account
	// may have.
	Queued int
}

// Room is how many more local jobs a load may take within the bounds; never
// below 0. To submit no more than that never oversteps them, whatever the batch
// system starts when.
func Room(l Load, b Bounds) int {
	room := int(^uint(0) >> 1)
	bound := func(limit, have int) {
		if limit > 0 {
			room = min(room, max(limit-have, 0))
		}
	}
	bound(b.Pending, l.Pending)
	bound(b.Running, l.Pending+l.Running)
	bound(b.Queued, l.Pending+l.Running)
	return room
}
