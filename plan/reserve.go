package plan

// Disk is the state's file system, as far as it decides about what is kept in reserve
// there.
type Disk struct {
	Space Space
	// Floor is how much new work needs to be free.
	Floor Floor
	// Reserve is how much the daemon keeps allocated, in bytes, and Held whether it
	// does so now.
	Reserve uint64
	Held    bool
	// Shut is true while the letter box is, Calm once nothing had to be done for
	// long enough to open it again.
	Shut, Calm bool
}

// Relief is what to do about the disk, in this order.
type Relief struct {
	// Shut the letter box, and take away what is heaviest there.
	Shut bool
	// GiveUp the reserve, if that did not help.
	GiveUp bool
	// TakeBack the reserve.
	TakeBack bool
	// Open the letter box.
	Open bool
}

// reserveShare is the part of a file system that a reserve takes at most.
const reserveShare = 16

// ReserveOf bounds what is kept in reserve of a file system.
func ReserveOf(s Space, want uint64) uint64 { return min(want, s.Bytes/reserveShare) }

// Relieve decides about the state's file system, on which accounts can write into the
// letter box:
//
//	less is free than twice the floor       Shut, and GiveUp the reserve if it is held
//	else, the reserve not held, and room    TakeBack
//	else, shut, calm, reserve held          Open
//
// Twice the floor, so that it is done before new work is refused. There is room if
// after taking it back four times the floor are free: no back and forth.
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
