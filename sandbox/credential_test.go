package sandbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"jjm/internal/credential"
	"jjm/internal/jjm"
)

// proxy returns a chain of certificates that expire at the given times.
func proxy(t testing.TB, ends ...time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := "# a comment\n"
	for i, end := range ends {
		c := &x509.Certificate{SerialNumber: big.NewInt(int64(i) + 1), NotAfter: end}
		der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		text += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
		if i == 0 {
			text += string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("geheim")}))
		}
	}
	return text
}

func token(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestCredential_OnlyANewerOneReplacesIt(t *testing.T) {
	at := func(h int) time.Time { return time.Date(2030, 1, 1, h, 0, 0, 0, time.UTC) }
	exp := func(h int) string { return token(fmt.Sprintf(`{"exp":%d}`, at(h).Unix())) }
	short, middle, long := proxy(t, at(3), at(20)), proxy(t, at(20), at(5)), proxy(t, at(12), at(9))
	for name, c := range map[string]struct {
		kind, old, fresh string
		want             bool
	}{
		"a later proxy":         {jjm.ProxyKind, short, middle, true},
		"an earlier proxy":      {jjm.ProxyKind, long, middle, false},
		"the same proxy":        {jjm.ProxyKind, long, long, false},
		"a proxy for junk":      {jjm.ProxyKind, "junk", short, true},
		"junk for a proxy":      {jjm.ProxyKind, short, "junk", true}, // jjm cannot read it: the gatekeeper decides
		"a later token":         {jjm.TokenKind, exp(3), exp(5) + "\n", true},
		"an earlier token":      {jjm.TokenKind, exp(5), exp(3), false},
		"an opaque token":       {jjm.TokenKind, exp(5), "opaque", true},
		"a token without claim": {jjm.TokenKind, exp(5), token(`{}`), true},
		"the same token":        {jjm.TokenKind, "opaque", "opaque", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a, err := OpenArea(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			h := jjm.HandleOf(1, "k")
			put := func(text string, want bool) {
				t.Helper()
				got, err := a.PutCredential(h, credential.Parse(jjm.Credential{Kind: c.kind, Secret: jjm.Secret(text)}))
				if err != nil || got != want {
					t.Errorf("stored %v, %v; want %v", got, err, want)
				}
			}
			put(c.old, true)
			put(c.fresh, c.want)
			path := filepath.Join(dir, CredentialPath(h, c.kind))
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			want := c.old
			if c.want {
				want = c.fresh
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != want {
				t.Error("the wrong one is there", err)
			}
			if err := a.RemoveCredentials(h); err != nil {
				t.Error(err)
			}
			if names, err := os.ReadDir(filepath.Join(dir, "credentials")); err != nil || len(names) > 0 {
				t.Errorf("left: %v, %v", names, err)
			}
		})
	}
}

func TestCredential_OnlyUnderAHandle(t *testing.T) {
	a, err := OpenArea(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, h := range []jjm.Handle{"", "..", "../../x", "17"} {
		if _, err := a.PutCredential(h, credential.Parse(jjm.Credential{Kind: jjm.ProxyKind, Secret: "x"})); err == nil {
			t.Errorf("%q passed", h)
		}
		if err := a.RemoveCredentials(h); err == nil {
			t.Errorf("%q was removed", h)
		}
	}
	path := credential.Parse(jjm.Credential{Kind: "../x", Secret: "x"})
	if _, err := a.PutCredential(jjm.HandleOf(1, "k"), path); err == nil {
		t.Error("a kind that is a path passed")
	}
}
