package credential

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// Whom describes the person with whom a ban is compared: the owner of a grid job.
type Whom struct {
	User string
	UID  int
	// DNs are the person's distinguished names as far as they are known, in any notation.
	DNs []string
}

// Excludes reports whether a ban excludes the person w. Accounts are compared by uid. DNs are compared in canonical
// form ([ParseDN]), and a ban of a holder also covers the holder's proxies ([DN.Covers]).
func Excludes(b jjm.Ban, w Whom) bool {
	if b.Kind == jjm.BanUser {
		return b.Account != nil && *b.Account == w.UID
	}
	banned, err := ParseDN(strings.TrimSpace(b.Name))
	return slices.ContainsFunc(w.DNs, func(name string) bool {
		dn, notDN := ParseDN(strings.TrimSpace(name))
		if err != nil || notDN != nil {
			return name != "" && SameDN(b.Name, name)
		}
		return banned.Covers(dn)
	})
}

// SameBan reports whether two bans are about the same person.
func SameBan(a, b jjm.Ban) bool {
	switch {
	case a.Kind != b.Kind:
		return false
	case a.Kind == jjm.BanDN:
		return SameDN(a.Name, b.Name)
	case a.Account != nil && b.Account != nil:
		return *a.Account == *b.Account
	}
	return a.Name == b.Name
}
