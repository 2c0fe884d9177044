package wire

import (
	"strings"

	"jjm/internal/jjm"
)

// VerbBan is the verb "ban": it bans an account or a DN, ends a ban, or lists the bans in
// force.
func VerbBan() Verb[BanRequest, BanAnswer] {
	return Verb[BanRequest, BanAnswer]{About{Name: "ban", MaxBytes: maxShort,
		Help: "Ban an account or a DN, end a ban; or list the bans in force."}}
}

// BanRequest sets or ends a ban. Without Ban, it lists the bans in force.
type BanRequest struct {
	Head
	Ban *Ban `json:"ban,omitempty"`
}

// Check checks the form of Ban, if Ban is set.
func (r BanRequest) Check() error {
	if r.Ban == nil {
		return nil
	}
	return r.Ban.check()
}

// BanAnswer is the answer of "ban".
type BanAnswer struct {
	Reply
	Banned *Banned `json:"banned,omitempty"`
}

// Check requires the member banned.
func (a BanAnswer) Check() error { return present("banned", a.Banned != nil) }

// Ban is an administrator's request to ban a person, or to end a ban.
type Ban struct {
	// Lift ends the ban instead of setting it.
	Lift bool `json:"lift,omitempty"`
	// Name is the name of an account, or a DN (X.509 subject) if it contains "/" or "=".
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// Banned is the result of a BanRequest.
type Banned struct {
	// Bans are the bans that were set or ended. If the request sets a ban that is in force already, Bans has
	// this ban. If the request had no Ban, they are the bans in force.
	Bans []jjm.Ban `json:"bans"`
	// Killed are the grid jobs that are killed because of the ban.
	Killed []jjm.GridID `json:"killed,omitempty"`
	// NoChange is set if the request changed nothing, because the ban was in force already, or because there was no ban
	// to end. This is a success. Notes say why nothing changed.
	NoChange bool     `json:"no_change,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// maxDN is the longest DN in bytes. Subjects of certificates are far shorter.
const maxDN = 2048

// check returns the first mistake in a ban that can be found without knowledge of the site.
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
