package wire

import "jjm/internal/jjm"

// Caller is the account and process at the other end of the socket, as the kernel reports them (SO_PEERCRED, unix(7)).
// A Caller is never sent over the wire: a client cannot state who it is.
type Caller struct {
	UID, GID, PID int
	User          string
	// Admin is set for callers who may see and kill the jobs of every account: root, the configured administrators, and
	// the daemon's own account if no other account may connect. See [Caller.May].
	Admin bool
	// Spooled is set if the request was read from the spool (package spool): the caller is
	// not connected.
	Spooled bool
}

// Actor returns the name under which the journal records the caller.
func (c Caller) Actor() string { return jjm.ActorOf(c.User, c.UID) }

// May reports whether the caller may see and change the jobs and data of the account uid.
func (c Caller) May(uid int) bool { return c.Admin || c.UID == uid }
