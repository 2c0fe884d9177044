package condor_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// proxies makes proxy certificates.
type proxies struct {
	*testing.T
	key    *ecdsa.PrivateKey
	cert   *x509.Certificate
	serial int64
}

func newProxies(t *testing.T) *proxies {
	p := &proxies{T: t}
	subject := pkix.Name{Organization: []string{"Grid"}, CommonName: "Ann"}
	p.key = p.newKey()
	p.cert = p.sign(&x509.Certificate{SerialNumber: big.NewInt(1), Subject: subject,
		KeyUsage:  x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}, nil, p.key)
	return p
}

func (p *proxies) newKey() *ecdsa.PrivateKey {
	p.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.Fatal(err)
	}
	return key
}

// sign makes a certificate for a key; without an issuer it signs itself.
func (p *proxies) sign(c, issuer *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	p.Helper()
	if issuer == nil {
		issuer = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, issuer, &key.PublicKey, p.key)
	if err == nil {
		c, err = x509.ParseCertificate(der)
	}
	if err != nil {
		p.Fatal(err)
	}
	return c
}

// make replaces a file by a new proxy (RFC 3820), and returns a line that identifies this proxy.
func (p *proxies) make(file string, owner jjm.Owner, good time.Duration) (mark string) {
	p.Helper()
	info, err := asn1.Marshal(struct {
		Policy struct{ Language asn1.ObjectIdentifier }
	}{
		struct{ Language asn1.ObjectIdentifier }{asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 21, 1}}})
	if err != nil {
		p.Fatal(err)
	}
	p.serial++
	key := p.newKey()
	subject := p.cert.Subject
	subject.ExtraNames = append(p.cert.Subject.Names[:len(p.cert.Subject.Names):len(p.cert.Subject.Names)],
		pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: strconv.FormatInt(p.serial, 10)})
	cert := p.sign(&x509.Certificate{SerialNumber: big.NewInt(p.serial), Subject: subject,
		KeyUsage:  x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(good),
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 14}, Critical: true,
			Value: info}}}, p.cert, key)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		p.Fatal(err)
	}
	var text bytes.Buffer
	for _, b := range []pem.Block{{Type: "CERTIFICATE", Bytes: cert.Raw}, {Type: "EC PRIVATE KEY", Bytes: der},
		{Type: "CERTIFICATE", Bytes: p.cert.Raw}} {
		text.Write(pem.EncodeToMemory(&b))
	}
	for _, err := range []error{os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file+".new", text.Bytes(), 0o600),
		os.Chown(file+".new", owner.UID, owner.GID), os.Rename(file+".new", file)} {
		if err != nil {
			p.Fatal(err)
		}
	}
	lines := strings.Split(text.String(), "\n")
	return lines[4]
}

// Newer proxies must reach the running jobs. The bed copies proxies: see delegates.
func renews(s *site) {
	if err := s.Probe(s.Context()); err != nil {
		s.Fatal(err)
	}
	p, file := newProxies(s.T), filepath.Join(s.dir, "proxies", "proxy")
	old := p.make(file, s.bed.Owner, time.Hour)
	b := s.area(fmt.Sprintf(`[ "$(dirname "$X509_USER_PROXY")" -ef . ] && grep -qF %[1]s "$X509_USER_PROXY" || exit 3
stat -c %%a "$X509_USER_PROXY" >tmp
: >"$1/started.$JJM_INDEX"
while grep -qF %[1]s "$X509_USER_PROXY"; do sleep 0.1; done
cat "$X509_USER_PROXY" >>tmp
mv tmp parcel.tar`, old))
	b.N, b.Transfer.Proxy = 2, file
	s.control(adapters.Release, refs(b, s.submit(b))...)
	for i := range b.N {
		s.untilOf(i, "started", b, func(r jjm.Report) bool {
			if r.State.Ended() {
				s.Fatalf("%+v", r)
			}
			_, err := os.Stat(filepath.Join(s.dir, "started."+strconv.Itoa(i)))
			return err == nil
		})
	}
	// The shadow compares the times of proxies in whole seconds. It therefore overlooks a new proxy that was written in
	// the second in which the shadow started.
	var newer []string
	var made time.Time
	renew := func(r jjm.Report) bool {
		if time.Since(made) > 2*time.Second { // pause: the shadow sees the next proxy
			p.make(file, s.bed.Owner, 2*time.Hour)
			text, err := os.ReadFile(file)
			if err != nil {
				s.Fatal(err)
			}
			newer, made = append(newer, "600\n"+string(text)), time.Now()
		}
		return over(r)
	}
	for i := range b.N {
		if r := s.untilOf(i, "over", b, renew); r.State != jjm.BatchEndedOK {
			s.Errorf("job %d: %+v", i, r)
		}
		got, err := os.ReadFile(filepath.Join(b.Transfer.Back, strconv.Itoa(i)))
		if err != nil || !slices.Contains(newer, string(got)) {
			s.Errorf("job %d saw %q, %v", i, got, err)
		}
	}
}
