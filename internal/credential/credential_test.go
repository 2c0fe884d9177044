package credential

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"jjm/internal/jjm"
)

// nested wraps a DER value in that many levels of sequences.
func nested(t testing.TB, levels int, der []byte) []byte {
	t.Helper()
	for range levels {
		var err error
		if der, err = asn1.Marshal(asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSequence, IsCompound: true,
			Bytes: der}); err != nil {
			t.Fatal(err)
		}
	}
	return der
}

func der(t testing.TB, v any) []byte {
	t.Helper()
	b, err := asn1.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// attributeList returns the attributes that VOMS puts into a proxy, in the form of GFD.182, without the parts that jjm
// does not read.
func attributeList(t testing.TB, names ...string) []byte {
	t.Helper()
	var values []byte
	for _, name := range names {
		values = append(values, der(t, []byte(name))...)
	}
	authority := der(t, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true,
		Bytes: der(t, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 6,
			Bytes: []byte("dzero://voms.example.org:15002")})})
	syntax := nested(t, 1, append(authority, nested(t, 1, values)...))
	set := der(t, asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSet, IsCompound: true, Bytes: syntax})
	attribute := nested(t, 1, append(der(t, vomsNames), set...))
	other := nested(t, 1, append(der(t, asn1.ObjectIdentifier{1, 2, 3}), der(t, []byte("not this"))...))
	info := append(der(t, 1), append(nested(t, 1, der(t, []byte("holder"))),
		nested(t, 1, append(other, attribute...))...)...)
	return nested(t, 3, nested(t, 1, info))
}

// chain makes the file of a proxy: proxies first, the user's certificate last.
func chain(t testing.TB, lists ...[]byte) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	user := pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}, Value: "org"}},
		{{Type: asn1.ObjectIdentifier{2, 5, 4, 10}, Value: "Grid"}},
		{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "Ann User"}}}
	text := ""
	for i := range len(lists) + 1 {
		name := append(pkix.RDNSequence(nil), user...)
		c := &x509.Certificate{SerialNumber: big.NewInt(int64(i) + 1), NotAfter: time.Now().Add(time.Hour)}
		if i < len(lists) {
			name = append(name, pkix.RelativeDistinguishedNameSET{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "1234"}})
			c.ExtraExtensions = []pkix.Extension{{Id: proxyInfo, Critical: true, Value: nested(t, 1, nil)}}
			if lists[i] != nil {
				c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: vomsList, Value: lists[i]})
			}
		}
		c.RawSubject = der(t, name)
		cert, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		text += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
		if i == 0 {
			text += string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("geheim")}))
		}
	}
	return text
}

func TestParse_FindsTheFactsOfACredential(t *testing.T) {
	const ann = "/DC=org/O=Grid/CN=Ann User"
	production := attributeList(t, "/dzero/Role=production/Capability=NULL", "/dzero/Role=NULL/Capability=NULL")
	for name, c := range map[string]struct {
		kind, secret, subject, issuer, vo string
	}{
		"a proxy of VOMS": {jjm.ProxyKind, chain(t, production), ann, "", "/dzero/Role=production"},
		"a member": {jjm.ProxyKind, chain(t, attributeList(t, "/dzero/Role=NULL/Capability=NULL")), ann, "",
			"/dzero"},
		"delegated":              {jjm.ProxyKind, chain(t, nil, production), ann, "", "/dzero/Role=production"},
		"a plain proxy":          {jjm.ProxyKind, chain(t, nil), ann, "", ""},
		"the certificate itself": {jjm.ProxyKind, chain(t), ann, "", ""},
		"junk in the extension":  {jjm.ProxyKind, chain(t, []byte("\x30\x80junk")), ann, "", ""},
		"junk":                   {jjm.ProxyKind, "junk", "", "", ""},
		"a token": {jjm.TokenKind, token(`{"sub":"ann","iss":"https://i","wlcg.groups":["/dzero","/x"]}`),
			"ann", "https://i", "/dzero"},
		"a token without groups":  {jjm.TokenKind, token(`{"sub":"ann","iss":"https://i"}`), "ann", "https://i", ""},
		"what is no token at all": {jjm.TokenKind, "opaque", "", "", ""},
	} {
		f := Parse(jjm.Credential{Kind: c.kind, Secret: jjm.Secret(c.secret)})
		if f.Subject != c.subject || f.Issuer != c.issuer || f.VO != c.vo {
			t.Errorf("%s: %q, %q, %q; want %q, %q, %q", name, f.Subject, f.Issuer, f.VO, c.subject, c.issuer, c.vo)
		}
	}
}

func FuzzFirstName(f *testing.F) {
	f.Add(attributeList(f, "/dzero/Role=production/Capability=NULL"))
	f.Add([]byte{0x30, 0x80, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if name := firstName(b, false, 0); len(name) > len(b) {
			t.Errorf("%q is longer than what it was read from", name)
		}
	})
}

func token(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func FuzzParse(f *testing.F) {
	f.Add("token", token(`{"exp":1e300}`))
	f.Add("token", token(`{"exp":-1}`))
	f.Add("token", "a.b.c")
	f.Add("proxy", "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n")
	f.Fuzz(func(t *testing.T, kind, secret string) {
		c := jjm.Credential{Kind: kind, Secret: jjm.Secret(secret)}
		if p := Parse(c); p.NewerThan(p) {
			t.Error("newer than itself")
		}
	})
}
