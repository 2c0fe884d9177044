package wire

import (
	"strings"

	"jjm"
)

// Ban is an administrator's wish to keep somebody out, or to let them in again.
type Ban struct {
	// Lift ends a ban instead.
	Lift bool `json:"lift,omitempty"`
	// Name is an account, or a DN if it holds "/" or "=".
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// Banned answers ban.
type Banned struct {
	// Bans are what was begun or ended; without a wish those in force.
	Bans []jjm.Ban `json:"bans"`
	// Killed are the grid jobs that end because of it.
	Killed []jjm.GridID `json:"killed,omitempty"`
}

// maxDN is the longest DN, in bytes: PEM subjects stay well below.
const maxDN = 2048

// check finds what is wrong with a ban; none at all lists those in force.
func (b *Ban) check() error {
	switch {
	case b == nil:
		return nil
	case strings.TrimSpace(b.Name) == "" || len(b.Name) > maxDN || !oneLine(b.Name):
		return jjm.Errorf(jjm.Invalid, "ban.name %.40q: want the name of an account, or a DN such as /DC=org/CN=Mallory", b.Name)
	case len(b.Reason) > maxReason || !oneLine(b.Reason):
		return jjm.Errorf(jjm.Invalid, "ban.reason %.40q: want one line of at most %d bytes", b.Reason, maxReason)
	case !b.Lift && strings.TrimSpace(b.Reason) == "":
		return jjm.Errorf(jjm.Invalid, "ban.reason is missing: say why, for the audit and for those who are refused")
	}
	return nil
}
