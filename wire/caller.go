package wire

import "jjm"

// Caller is who is on the other end of the socket, as the kernel tells it
// (SO_PEERCRED, unix(7)). It never crosses the wire.
type Caller struct {
	UID, GID, PID int
	User          string
	// Admin callers see and kill everybody's jobs: root, and the account that
	// the daemon runs as.
	Admin bool
	// Spooled: the caller left word in the spool and is not there.
	Spooled bool
}

// Actor names the caller for the journal.
func (c Caller) Actor() string { return jjm.ActorOf(c.User, c.UID) }

// May reports whether the caller may see and change what belongs to uid.
func (c Caller) May(uid int) bool { return c.Admin || c.UID == uid }
