// Package credential reads what the credentials of users say about them: proxy certificates, bearer tokens, and the
// distinguished names in both. It also compares the names, in whatever notation they are written. It verifies no
// credential: the gatekeeper has verified it, and each server that receives it verifies it again.
package credential

import (
	"time"

	"jjm/internal/jjm"
)

// Facts are what a credential says. A field is zero if the credential does not contain the fact, or cannot be parsed.
type Facts struct {
	// Subject is the subject of the user's certificate, in the notation of Globus (/O=Grid/CN=somebody), or the subject
	// of the token.
	Subject string
	// Issuer is the issuer of the token; "" for proxies.
	Issuer string
	// VO is the virtual organisation. For a proxy it comes from the attributes of VOMS, with the role. For a token it is
	// the first of its groups (WLCG token profile, wlcg.groups).
	VO string
	// End is the expiry: for a proxy the earliest expiry of its certificates, for a JSON Web Token its exp (RFC 7519,
	// section 4.1.4).
	End time.Time
}

// Parsed is a credential with its facts.
type Parsed struct {
	jjm.Credential
	Facts
}

// Parse reads the facts of a credential.
func Parse(c jjm.Credential) Parsed {
	if c.Kind == jjm.TokenKind {
		return Parsed{c, ofToken(string(c.Secret))}
	}
	return Parsed{c, ofProxy(string(c.Secret))}
}

// ParseAll reads the facts of several credentials.
func ParseAll(cs []jjm.Credential) []Parsed {
	var all []Parsed
	for _, c := range cs {
		all = append(all, Parse(c))
	}
	return all
}

// NewerThan reports whether p should replace the credential old of the same kind. It returns false if both are the
// same, or if p expires earlier. If either expiry is unknown, it returns true for a different credential.
func (p Parsed) NewerThan(old Parsed) bool {
	return p.Secret != old.Secret && (p.End.IsZero() || old.End.IsZero() || !p.End.Before(old.End))
}
