package plan

// Disk holds the inputs of Relieve: the free space of the file system of the daemon's state, and the reserve that the
// daemon keeps there.
type Disk struct {
	Space Space
	// Floor is the free space that is required for new work.
	Floor Floor
	// Reserve is the number of bytes that the daemon keeps allocated. Held is true if they are allocated now.
	Reserve uint64
	Held    bool
	// Shut is true while the spool is closed to accounts. Calm is true if the spool has been quiet for long enough to be
	// opened.
	Shut, Calm bool
}

// Relief lists the actions that free space, to carry out in the order of the fields.
type Relief struct {
	// Shut is true if the spool must be closed, and the largest entries in it removed.
	Shut bool
	// GiveUp is true if the reserve must be freed, in case closing the spool did not help.
	GiveUp bool
	// TakeBack is true if the reserve must be allocated again.
	TakeBack bool
	// Open is true if the spool must be opened again.
	Open bool
}

// reserveShare limits the reserve to 1/reserveShare of the file system.
const reserveShare = 16

// ReserveOf returns the number of bytes to keep in reserve in a file system, at most want.
func ReserveOf(s Space, want uint64) uint64 { return min(want, s.Bytes/reserveShare) }

// Relieve decides about the file system of the daemon's state, which accounts can fill through
// the spool:
//
//	less than twice the floor, or no byte, is free  Shut, and GiveUp the reserve if it is held
//	else, reserve not held, and there is room       TakeBack
//	else, shut, calm, and the reserve is held       Open
//
// The limit is twice the floor, so that the spool is closed before new work is refused. There is room
// if four times the floor stay free after the reserve is allocated, so that the reserve is not freed
// and allocated in turns.
func Relieve(d Disk) Relief {
	least := func(floor, all uint64) uint64 { return min(floor, all/floorShare) }
	bytes, files := least(d.Floor.Bytes, d.Space.Bytes), least(d.Floor.Files, d.Space.Files)
	switch {
	case d.Space.FreeBytes < 2*bytes || d.Space.FreeFiles < 2*files || d.Space.FreeBytes == 0:
		return Relief{Shut: true, GiveUp: d.Held}
	case !d.Held && d.Reserve > 0:
		return Relief{TakeBack: d.Space.FreeBytes >= d.Reserve+4*bytes}
	case d.Shut && d.Calm:
		return Relief{Open: true}
	}
	return Relief{}
}
