package jjm

import "strings"

// Ban keeps somebody out: new grid jobs are refused, those that run are killed.
// It is in force until it is lifted.
type Ban struct {
	// Kind is what Name names: BanUser, a local account, or BanDN, the subject
	// of a certificate or token as gatekeepers tell it.
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// By is the administrator, UID the account as the kernel told it.
	By    string `json:"by"`
	UID   int    `json:"uid"`
	Since Time   `json:"since"`
}

// What a ban may be about.
const (
	BanUser = "user"
	BanDN   = "dn"
)

// Whom is a grid job's side of a ban: whose it is.
type Whom struct {
	User string
	DN   string // "" when it is not known
}

// BanKind tells of which kind a name is: the name of an account holds neither a
// slash nor an equals sign, and a DN holds both or, as RFC 4514 writes it, the
// latter.
func BanKind(name string) string {
	if strings.ContainsAny(name, "/=") {
		return BanDN
	}
	return BanUser
}

// Concerns reports whether the ban keeps w out. A proxy's subject is that of its
// holder with further CN elements (RFC 3820, section 3.4): it is kept out with
// the holder. Whether an element of a DN holds capitals does not matter.
func (b Ban) Concerns(w Whom) bool {
	if b.Kind == BanUser {
		return b.Name == w.User
	}
	if w.DN == "" || b.Name == "" {
		return false
	}
	banned, dn := strings.ToLower(b.Name), strings.ToLower(w.DN)
	rest, below := strings.CutPrefix(dn, banned)
	return below && (rest == "" || strings.HasPrefix(rest, "/cn="))
}

// Same reports whether both are about the same person.
func (b Ban) Same(other Ban) bool { return b.Kind == other.Kind && b.Name == other.Name }

// String tells people who was banned by whom and why: "user mallory is banned by
// root (uid 0) since 2026-03-01T12:00:00.000Z: mines coins".
func (b Ban) String() string {
	return b.Kind + " " + b.Name + " is banned by " + ActorOf(b.By, b.UID) + " since " + b.Since.String() + ": " + b.Reason
}
