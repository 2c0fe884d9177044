package jjm

import "strings"

// Exclusion keeps jjm's jobs off one host of a cluster. It is in force until an administrator includes the host again,
// or until the time Until.
type Exclusion struct {
	Cluster string `json:"cluster"`
	Host    string `json:"host"`
	Reason  string `json:"reason"`
	// By is the administrator who excluded the host.
	By    string `json:"by"`
	Since Time   `json:"since"`
	// Until is when the exclusion ends by itself; 0 means never.
	Until Time `json:"until,omitempty"`
}

// InForce reports whether the exclusion has not ended by itself.
func (e Exclusion) InForce(now Time) bool { return e.Until == 0 || now < e.Until }

// Same reports whether one exclusion replaces the other exclusion, because both are about the same host.
func (e Exclusion) Same(other Exclusion) bool {
	return e.Cluster == other.Cluster && e.Host == other.Host
}

// Repeats reports whether one exclusion changes nothing of the other exclusion: both are about the same host, have the
// same reason, and end at the same time.
func (e Exclusion) Repeats(other Exclusion) bool {
	return e.Same(other) && e.Reason == other.Reason && e.Until == other.Until
}

// String returns the exclusion with its administrator, times and reason, for people: "host wn13 is excluded from
// cluster slurm by root since 2026-03-01 12:00 CET until somebody includes it: disk full".
func (e Exclusion) String() string {
	return "host " + e.Host + " is excluded from cluster " + e.Cluster + " by " + e.By + " since " + e.Since.Local() +
		" " + e.Term() + ": " + e.Reason
}

// Term returns the end of the exclusion, for people: "until 2026-03-01 12:00 CET", "until somebody includes it".
func (e Exclusion) Term() string {
	if e.Until == 0 {
		return "until somebody includes it"
	}
	return "until " + e.Until.Local()
}

// MaxHost is the longest name of a host in bytes, as in RFC 1035.
const MaxHost = 253

// IsHost reports whether a text can be the name of a host that is excluded: at most MaxHost letters, digits, dots,
// minuses and underscores, with a letter, digit or underscore at both ends. Such a name has no special meaning in the
// language of any batch system.
func IsHost(name string) bool {
	if name == "" || len(name) > MaxHost || strings.Contains(name, "..") {
		return false
	}
	for _, c := range []byte(name) {
		if !isHostByte(c) && c != '.' && c != '-' {
			return false
		}
	}
	return isHostByte(name[0]) && isHostByte(name[len(name)-1])
}

// isHostByte reports whether c may be the first or the last byte of the name of a host.
func isHostByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
