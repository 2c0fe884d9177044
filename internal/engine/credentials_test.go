package engine_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// bearer returns a token with some claims and a signature that is not valid.
func bearer(claims string) []jjm.Credential {
	text := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	return []jjm.Credential{{Kind: jjm.TokenKind, Secret: jjm.Secret(text)}}
}

// The subject in a credential completes the origin that the gatekeeper reported. A gatekeeper that acts for other
// people renews the credentials of a grid job with credentials of the same subject.
func TestCredentials_NameTheirSubject(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		ann := `{"sub":"ann","iss":"https://issuer","wlcg.groups":["/dzero"],"jti":"1"}`
		submit := func(key string, o *jjm.Origin) *jjm.Origin {
			s, err := w.engine.Submit(t.Context(), alice,
				wire.Submit{Name: "j.toml", Text: plain(1, `credentials = ["token"]`), BaseDir: "/",
					Key: key, Origin: o, Credentials: bearer(ann)})
			w.must(err)
			st, err := w.engine.Status(t.Context(), alice, []jjm.Ref{{Grid: s.ID}})
			w.must(err)
			return st[0].Origin
		}
		if o := submit("a", &jjm.Origin{Gatekeeper: "ce"}); o == nil || o.Subject != "ann" || o.Issuer != "https://issuer" ||
			o.VO != "/dzero" {
			t.Errorf("nothing told: %+v", o)
		}
		if o := submit("b", &jjm.Origin{Gatekeeper: "ce", Subject: "/CN=Ann", VO: "/cdf"}); o.Subject != "/CN=Ann" ||
			o.Issuer != "" || o.VO != "/cdf" {
			t.Errorf("all told: %+v", o)
		}
		if o := submit("c", nil); o != nil {
			t.Errorf("no gatekeeper: %+v", o)
		}
		root := wire.Caller{User: "root", UID: alice.UID + 1, Admin: true}
		bob := bearer(`{"sub":"bob","jti":"2"}`)
		if _, err := w.engine.Renew(t.Context(), root, 1, bob); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("another's, by an administrator: %v", err)
		}
		if _, err := w.engine.Renew(t.Context(), root, 1, bearer(`{"jti":"4"}`)); jjm.KindOf(err) != jjm.Denied ||
			!strings.Contains(err.Error(), "names no subject") {
			t.Errorf("a credential of nobody's: %v", err)
		}
		if r, err := w.engine.Renew(t.Context(), root, 1, bearer(`{"sub":"ann","jti":"3"}`)); err != nil ||
			len(r.Kinds) != 1 {
			t.Errorf("one of the same name: %+v, %v", r, err)
		}
		if r, err := w.engine.Renew(t.Context(), alice, 1, bob); err != nil || len(r.Kinds) != 1 {
			t.Errorf("what the owner wants: %+v, %v", r, err)
		}
	})
}

// A gatekeeper that cannot renew credentials repeats its submission with newer ones. The running jobs then get the
// newer credentials. Credentials that are older than the stored ones are ignored. When the grid job is over, its
// credentials are removed.
func TestCredentials_ARepeatedSubmissionRenewsThem(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		first, second := certificate(t, time.Now().Add(time.Hour)), certificate(t, time.Now().Add(2*time.Hour))
		submit := func(c ...jjm.Credential) wire.Submitted {
			s, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "j.toml",
				Text: plain(1, `credentials = ["proxy"]`), BaseDir: "/", Key: "k", Credentials: c})
			w.must(err)
			return s
		}
		stored := func() string {
			path := filepath.Join(w.dir, "work", alice.User, sandbox.CredentialPath(jjm.HandleOf(alice.UID, "k"), jjm.ProxyKind))
			text, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
			return string(text)
		}
		id := submit(first).ID
		for _, c := range []struct {
			given []jjm.Credential
			want  jjm.Credential
		}{{nil, first}, {[]jjm.Credential{second}, second}, {[]jjm.Credential{first}, second}} {
			if s := submit(c.given...); !s.Existed || s.ID != id || stored() != string(c.want.Secret) {
				t.Errorf("given %d: %+v, stored the right one: %v", len(c.given), s, stored() == string(c.want.Secret))
			}
		}
		w.final(3*time.Hour, id)
		if s := submit(certificate(t, time.Now().Add(3*time.Hour))); s.ID != id || stored() != "" {
			t.Errorf("after the end: %+v, stored %d bytes", s, len(stored()))
		}
	})
}

// certificate returns a proxy credential that expires at a time.
func certificate(t *testing.T, end time.Time) jjm.Credential {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return jjm.Credential{Kind: jjm.ProxyKind,
		Secret: jjm.Secret(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// On a cluster without a shared file system, a batch system that renews proxies gets new proxies for the jobs that
// request renewal. Jobs and credentials that a renewal does not reach are reported at submission and at the renewal.
func TestCredentials_WhereFilesAreCarried(t *testing.T) {
	t.Parallel()
	for _, renews := range []bool{true, false} {
		sim := adaptertest.SimConfig{NoSharedFS: true, TwoPhase: true, Life: time.Hour, RenewsProxies: renews}
		inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
			got := map[string]int{}
			w.adapter.onSubmit.set(func(b adapters.Bulk) {
				got[b.Transfer.Proxy] += b.N
			})
			good, token := certificate(t, time.Now().Add(time.Hour)), bearer(`{"sub":"ann","jti":"1"}`)[0]
			given := map[string]jjm.Credential{"good": good, "ends": certificate(t, time.Now().Add(time.Minute)), "token": token}
			ids := map[string]jjm.GridID{"none": w.submit(alice, plain(1))}
			for key, c := range given {
				s, err := w.engine.Submit(t.Context(), alice,
					wire.Submit{Name: "j.toml", Text: plain(2, fmt.Sprintf("credentials = [%q]", c.Kind)), BaseDir: "/",
						Key: key, Credentials: []jjm.Credential{c}})
				w.must(err)
				ids[key] = s.ID
			}
			for key, id := range ids {
				w.running(id, map[bool]int{true: 1, false: 2}[key == "none"])
			}
			file := w.area(jjm.Owner{User: alice.User}).Root() + "/" +
				sandbox.CredentialPath(jjm.HandleOf(alice.UID, "good"), jjm.ProxyKind)
			want := map[string]int{"": 7}
			if renews {
				want = map[string]int{"": 5, file: 2}
			}
			if !maps.Equal(got, want) {
				t.Errorf("renewed: %v; handed over: %v, want %v", renews, got, want)
			}
			newer := map[string]jjm.Credential{"good": certificate(t, time.Now().Add(2*time.Hour)),
				"token": bearer(`{"sub":"ann","jti":"2"}`)[0]}
			for key, c := range newer {
				kept := !renews || key == "token"
				st, err := w.engine.Status(t.Context(), alice, []jjm.Ref{{Grid: ids[key]}})
				w.must(err)
				if text := strings.Join(st[0].Why, "|"); strings.Contains(text, "keep the "+c.Kind) != kept {
					t.Errorf("renewed: %v; of %s people are told %q", renews, key, text)
				}
				r, err := w.engine.Renew(t.Context(), alice, ids[key], []jjm.Credential{c})
				if err != nil || len(r.Kinds) != 1 || (len(r.NotReached) == 1) != kept {
					t.Errorf("renewed: %v; %s: %+v, %v", renews, key, r, err)
				}
			}
		})
	}
}
