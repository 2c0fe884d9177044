package credential

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// ofToken returns the facts of a JSON Web Token.
func ofToken(text string) Facts {
	c, ok := claimsOf(text)
	if !ok {
		return Facts{}
	}
	f := Facts{Subject: c.Subject, Issuer: c.Issuer}
	if len(c.Groups) > 0 {
		f.VO = c.Groups[0]
	}
	if c.Exp > 0 && c.Exp <= 1<<40 {
		f.End = time.Unix(int64(c.Exp), 0)
	}
	return f
}

// claims are the claims of a token that jjm reads (RFC 7519, section 4.1, and the WLCG profile).
type claims struct {
	Exp     float64  `json:"exp"`
	Subject string   `json:"sub"`
	Issuer  string   `json:"iss"`
	Groups  []string `json:"wlcg.groups"`
}

// claimsOf returns the claims of a JSON Web Token. ok is false if the text is no such token.
func claimsOf(token string) (c claims, ok bool) {
	parts := strings.Split(strings.TrimSpace(token), ".")
	if len(parts) != 3 {
		return c, false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	return c, err == nil && json.Unmarshal(text, &c) == nil
}
