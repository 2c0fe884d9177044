package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"jjm/internal/credential"
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
func (a *Area) PutCredential(h jjm.Handle, c credential.Parsed) (stored bool, err error) {
	if _, ok := jjm.ParseHandle(string(h)); !ok {
		return false, jjm.Errorf(jjm.Invalid, "sandbox: credential of %.40q: want a handle", h)
	}
	if ps := jjm.CheckCredentials([]jjm.Credential{c.Credential}); len(ps) > 0 {
		return false, ps.Err()
	}
	name := CredentialPath(h, c.Kind)
	old, err := a.readBounded(name, maxCredential)
	if err == nil && !c.NewerThan(credential.Parse(jjm.Credential{Kind: c.Kind, Secret: jjm.Secret(old)})) {
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
	known := credential.Parse(jjm.Credential{Kind: jjm.ProxyKind, Secret: jjm.Secret(text)})
	return Proxy{File: filepath.Join(a.root, name), End: known.End}, true, nil
}
