package jjm

import (
	"unicode"
	"unicode/utf8"
)

// Origin says where a grid job came from, as its gatekeeper tells it. It is
// kept and shown; nothing is allowed or refused because of it.
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
	// Verified is set by the daemon where an administrator's account told all this of
	// another's job; else it is the word of the job's own account.
	Verified bool `json:"verified,omitempty"`
	// Memo is the gatekeeper's note to itself, given back once the grid job is
	// final: where its files are wanted, for instance. It is not shown.
	Memo string `json:"memo,omitempty"`
}

// The longest texts of an origin, in bytes.
const (
	maxOrigin = 1024
	maxMemo   = 8192
)

// Problems finds texts that are too long or not one line.
func (o *Origin) Problems() Problems {
	if o == nil {
		return nil
	}
	var ps Problems
	for _, f := range o.Fields() {
		switch {
		case len(f[1]) > maxOrigin:
			ps = append(ps, Problem{Field: "origin." + f[0], Text: "longer than 1024 bytes"})
		case !plainLine(f[1]):
			ps = append(ps, Problem{Field: "origin." + f[0], Text: "want one line of UTF-8 text"})
		}
	}
	if len(o.Memo) > maxMemo || !plainLine(o.Memo) {
		ps = append(ps, Problem{Field: "origin.memo", Text: "want one line of UTF-8 text of at most 8192 bytes"})
	}
	return ps
}

// Fields gives the texts that are set, but the memo, with their JSON names, in
// order.
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

// plainLine reports whether a text is valid and holds no control characters.
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
