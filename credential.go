package jjm

import (
	"fmt"
	"slices"
)

// Credential kinds.
const (
	// ProxyKind is a proxy certificate with its key, as PEM (RFC 3820).
	ProxyKind = "proxy"
	// TokenKind is a bearer token (RFC 6750).
	TokenKind = "token"
)

// CredentialKinds lists the kinds of credentials, with the variable by which a
// job finds the file of each: that of the Globus tools, and that of the WLCG's
// bearer token discovery.
func CredentialKinds() map[string]string {
	return map[string]string{ProxyKind: "X509_USER_PROXY", TokenKind: "BEARER_TOKEN_FILE"}
}

// Credential is what somebody's jobs prove by whose they are.
type Credential struct {
	Kind   string `json:"kind"`
	Secret Secret `json:"secret"`
}

// Secret is a text that is never shown: however it is printed or logged as text,
// only its length is told. JSON holds it.
type Secret string

const hidden = "[secret of %d bytes]"

// String and Format keep it out of texts, and of logs that are texts.
func (s Secret) String() string { return fmt.Sprintf(hidden, len(s)) }
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, hidden, len(s))
}

// maxSecret bounds a credential, in bytes: a proxy with a long chain and many
// attributes has some tens of thousands.
const maxSecret = 512 << 10

// CheckCredentials finds what is wrong with credentials. It never tells what is
// in them.
func CheckCredentials(cs []Credential) Problems {
	var ps Problems
	var seen []string
	for i, c := range cs {
		bad := func(text string) {
			ps = append(ps, Problem{Field: fmt.Sprintf("credentials[%d]", i), Text: text})
		}
		_, known := CredentialKinds()[c.Kind]
		switch {
		case !known:
			bad(fmt.Sprintf("kind %.20q: want %q or %q", c.Kind, ProxyKind, TokenKind))
		case slices.Contains(seen, c.Kind):
			bad("a second " + c.Kind + ": want one of each kind")
		case c.Secret == "" || len(c.Secret) > maxSecret:
			bad(fmt.Sprintf("a %s of %d bytes: want 1 to %d", c.Kind, len(c.Secret), maxSecret))
		}
		seen = append(seen, c.Kind)
	}
	return ps
}
