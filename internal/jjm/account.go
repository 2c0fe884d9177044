package jjm

import (
	"fmt"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// ActorOf returns the name of an account for the audit: "root (uid 0)". The uid identifies the account even if another
// account gets its name later.
func ActorOf(user string, uid int) string {
	return user + " (uid " + strconv.Itoa(uid) + ")"
}

// Origin describes where a grid job came from, as its gatekeeper reports it. jjm stores and shows the origin. No
// permission depends on it, except that bans of DNs ([Ban]) are compared with Subject.
type Origin struct {
	// Gatekeeper is the kind and host of the gatekeeper: "gram5 ce.example.org".
	Gatekeeper string `json:"gatekeeper,omitempty"`
	// Job is the gatekeeper's own id of the job.
	Job string `json:"job,omitempty"`
	// Subject is the distinguished name of the user's certificate, or the
	// subject of their token; Issuer is who issued the token.
	Subject string `json:"subject,omitempty"`
	Issuer  string `json:"issuer,omitempty"`
	// VO is the virtual organisation, with the role: "/dzero/Role=production".
	VO string `json:"vo,omitempty"`
	// SubmitHost is where the user submitted.
	SubmitHost string `json:"submit_host,omitempty"`
	// Verified is set by the daemon if the submitter was an administrator acting for another account, as gatekeepers
	// are. If it is false, the job's own account wrote these texts, and they prove nothing.
	Verified bool `json:"verified,omitempty"`
	// Memo is a note of the gatekeeper for its own use, for instance the destination of the output files. It is
	// returned to the gatekeeper after the grid job is final, and to no other client.
	Memo string `json:"memo,omitempty"`
}

// The limits of an origin's texts, in bytes. Texts of certificates and gatekeepers are far shorter.
const (
	maxOrigin = 1024
	maxMemo   = 8192
)

// Problems returns a problem for each text that is too long or is not one line of UTF-8. o may be nil.
func (o *Origin) Problems() Problems {
	if o == nil {
		return nil
	}
	var ps Problems
	for _, f := range o.Fields() {
		switch {
		case len(f[1]) > maxOrigin:
			ps = append(ps, Problem{Field: "origin." + f[0], Text: fmt.Sprintf("longer than %d bytes", maxOrigin)})
		case !plainLine(f[1]):
			ps = append(ps, Problem{Field: "origin." + f[0], Text: "want one line of UTF-8 text"})
		}
	}
	if len(o.Memo) > maxMemo || !plainLine(o.Memo) {
		ps = append(ps, Problem{Field: "origin.memo",
			Text: fmt.Sprintf("want one line of UTF-8 text of at most %d bytes", maxMemo)})
	}
	return ps
}

// Fields returns the texts that are set, as pairs of JSON name and value in the order of the
// struct. The memo is left out.
func (o *Origin) Fields() [][2]string {
	if o == nil {
		return nil
	}
	var out [][2]string
	for _, f := range [][2]string{
		{"gatekeeper", o.Gatekeeper}, {"job", o.Job}, {"subject", o.Subject},
		{"issuer", o.Issuer}, {"vo", o.VO}, {"submit_host", o.SubmitHost},
	} {
		if f[1] != "" {
			out = append(out, f)
		}
	}
	return out
}

// plainLine reports whether a text is valid UTF-8 without control characters.
func plainLine(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}

// Credential kinds.
const (
	// ProxyKind is a proxy certificate with its key, as PEM (RFC 3820).
	ProxyKind = "proxy"
	// TokenKind is a bearer token (RFC 6750).
	TokenKind = "token"
)

// CredentialKinds maps each kind of credential to the environment variable that holds the credential's path in a job.
// The variables are those of the Globus tools and of the WLCG's bearer token discovery.
func CredentialKinds() map[string]string {
	return map[string]string{ProxyKind: "X509_USER_PROXY", TokenKind: "BEARER_TOKEN_FILE"}
}

// Credential is a proxy certificate or a bearer token, with which a grid job acts for its user.
type Credential struct {
	Kind   string `json:"kind"`
	Secret Secret `json:"secret"`
}

// Secret is a text that must not be shown. If a Secret is printed or logged as text, only its length appears. JSON
// contains the full text, so a value that holds a Secret must not be logged as JSON.
type Secret string

const hidden = "[secret of %d bytes]"

// String and Format print only the length, for every formatting verb.
func (s Secret) String() string { return fmt.Sprintf(hidden, len(s)) }
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, hidden, len(s))
}

// maxSecret is the greatest size of a credential in bytes. A proxy with a long chain and many attributes has some tens
// of thousands of bytes.
const maxSecret = 512 << 10

// CheckCredentials returns a problem for each unknown kind, each second credential of a kind, and each size out of
// bounds. Problems never quote a secret.
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
