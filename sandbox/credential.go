package sandbox

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// maxCredential is the largest size of a stored credential in bytes.
const maxCredential = 1 << 20

// CredentialPath returns the path, below the area, of a credential of the grid job with the handle.
func CredentialPath(h jjm.Handle, kind string) string {
	return credentialDir(h) + "/" + kind
}

// credentialDir returns the folder of a grid job's credentials below the area.
func credentialDir(h jjm.Handle) string { return "credentials/" + string(h) }

// PutCredential stores a credential (mode 0600), complete or not at all. It replaces an older credential under the same
// path, where running jobs find the new one. If the credential equals the stored one, or expires before it, nothing is
// changed, and stored is false. The error is of kind Invalid if the handle or the credential is invalid.
func (a *Area) PutCredential(h jjm.Handle, c jjm.Credential) (stored bool, err error) {
	if _, ok := jjm.ParseHandle(string(h)); !ok {
		return false, jjm.Errorf(jjm.Invalid, "sandbox: credential of %.40q: want a handle", h)
	}
	if ps := jjm.CheckCredentials([]jjm.Credential{c}); len(ps) > 0 {
		return false, ps.Err()
	}
	name := CredentialPath(h, c.Kind)
	old, err := a.readBounded(name, maxCredential)
	if err == nil && !newer(c.Kind, string(c.Secret), string(old)) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, a.wrap(err, "read %s", name)
	}
	if err := a.fs.MkdirAll(credentialDir(h), dirMode); err != nil {
		return false, a.wrap(err, "make the folder of %s", name)
	}
	err = a.replace(name, fileMode, syncNamed, func(f *os.File) error {
		_, err := f.WriteString(string(c.Secret))
		return err
	})
	return err == nil, a.wrap(err, "write %s", name)
}

// RemoveCredentials removes the credentials of a grid job. It succeeds if there are none.
func (a *Area) RemoveCredentials(h jjm.Handle) error {
	if _, ok := jjm.ParseHandle(string(h)); !ok {
		return jjm.Errorf(jjm.Invalid, "sandbox: credentials of %.40q: want a handle", h)
	}
	return a.wrap(a.fs.RemoveAll(credentialDir(h)), "remove the credentials of %s", h)
}

// Proxy is a proxy certificate in the area.
type Proxy struct {
	// File is the absolute path of the certificate.
	File string
	// End is the time at which the certificate expires; zero if it cannot be parsed.
	End time.Time
}

// proxyOf returns the proxy for the local jobs of a grid job; ok is false if they have no proxy.
func (a *Area) proxyOf(j Job) (p Proxy, ok bool, err error) {
	name := j.Credentials[jjm.CredentialKinds()[jjm.ProxyKind]]
	if name == "" {
		return Proxy{}, false, nil
	}
	text, err := a.readBounded(name, maxCredential)
	if err != nil {
		return Proxy{}, false, a.wrap(err, "read %s", name)
	}
	end, _ := Expiry(jjm.ProxyKind, string(text))
	return Proxy{File: filepath.Join(a.root, name), End: end}, true, nil
}

// newer reports whether the credential fresh should replace old. It returns false if both are the same, or if fresh
// expires earlier. If either expiry is unknown, it returns true for a different credential.
func newer(kind, fresh, old string) bool {
	if fresh == old {
		return false
	}
	a, known := Expiry(kind, fresh)
	b, before := Expiry(kind, old)
	return !known || !before || !a.Before(b)
}

// Expiry returns the expiry of a credential: for a proxy the earliest expiry of its certificates, for a JSON Web Token
// its exp (RFC 7519, section 4.1.4). known is false if the expiry cannot be parsed. Expiry verifies nothing; the
// recipient of the credential must verify it.
func Expiry(kind, secret string) (end time.Time, known bool) {
	if kind == jjm.TokenKind {
		return tokenEnd(secret)
	}
	for _, cert := range certificates(secret) {
		if !known || cert.NotAfter.Before(end) {
			end, known = cert.NotAfter, true
		}
	}
	return end, known
}

// tokenEnd returns the expiry of a JSON Web Token; the bool is false if it has none that can be parsed.
func tokenEnd(token string) (time.Time, bool) {
	t, ok := claimsOf(token)
	if !ok || t.Exp <= 0 || t.Exp > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(int64(t.Exp), 0), true
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
