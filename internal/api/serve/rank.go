package serve

import "jjm/internal/api/wire"

// Rank is the set of callers who may use a verb.
type Rank int

// The ranks. Nobody may use a verb without a rank.
const (
	// Anyone is every account that may connect.
	Anyone Rank = iota + 1
	// Owners are the owners of the jobs or datasets concerned, and administrators. Only the
	// function of the verb knows the owners, so it must check [wire.Caller.May] itself.
	Owners
	// AnyoneReads is every account for a request that only reads, and administrators for a request that changes something.
	// The request's method Changes decides which kind the request is; a request without the method counts as a change.
	AnyoneReads
	// Administrators are root, the accounts of gate.admins, and the daemon's own account if
	// no other account may connect.
	Administrators
)

func (r Rank) String() string {
	switch r {
	case Anyone:
		return "anyone"
	case Owners:
		return "owners"
	case AnyoneReads:
		return "anyone; changes: admins"
	case Administrators:
		return "admins"
	}
	return "nobody"
}

// changer is a request that reports whether it changes something. Rank AnyoneReads treats a request without this method
// as a change.
type changer interface{ Changes() bool }

// Admits reports whether a verb of this rank permits the caller to make the request.
func (r Rank) Admits(c wire.Caller, req wire.Request) bool {
	switch r {
	case Anyone, Owners:
		return true
	case AnyoneReads:
		ch, ok := req.(changer)
		return c.Admin || ok && !ch.Changes()
	case Administrators:
		return c.Admin
	}
	return false
}
