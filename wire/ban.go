package wire

import (
	"strings"

	"jjm"
)

// VerbBan keeps somebody out, or lists who is kept out.
func VerbBan() Verb[BanRequest, BanAnswer] {
	return Verb[BanRequest, BanAnswer]{About{Name: "ban", MaxBytes: maxShort,
		Help: "Keep somebody out, let them in; or list the bans in force."}}
}

// BanRequest is a ban; without Ban those in force are listed.
type BanRequest struct {
	Head
	Ban *Ban `json:"ban,omitempty"`
}

// Check implements Request.
func (r BanRequest) Check() error {
	if r.Ban == nil {
		return nil
	}
	return r.Ban.check()
}

// BanAnswer answers ban.
type BanAnswer struct {
	Reply
	Banned *Banned `json:"banned,omitempty"`
}

// Check implements Answer.
func (a BanAnswer) Check() error { return present("banned", a.Banned != nil) }

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

// check finds what is wrong with a ban whatever the site is.
func (b *Ban) check() error {
	switch {
	case strings.TrimSpace(b.Name) == "" || len(b.Name) > maxDN || !oneLine(b.Name):
		return jjm.Errorf(jjm.Invalid, "ban.name %.40q: want the name of an account, or a DN such as /DC=org/CN=Mallory",
			b.Name)
	case len(b.Reason) > maxReason || !oneLine(b.Reason):
		return jjm.Errorf(jjm.Invalid, "ban.reason %.40q: want one line of at most %d bytes", b.Reason, maxReason)
	case !b.Lift && strings.TrimSpace(b.Reason) == "":
		return jjm.Errorf(jjm.Invalid, "ban.reason is missing: say why, for the audit and for those who are refused")
	}
	return nil
}
