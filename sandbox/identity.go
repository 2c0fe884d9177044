package sandbox

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"strings"

	"jjm"
)

// Whose tells what a credential says of its bearer: of a proxy the subject of the
// certificate that it stands for, and the virtual organisation with the role, as
// VOMS put them into it; of a JSON Web Token its issuer, subject and first group
// (WLCG token profile, wlcg.groups). What it does not say is "". Nothing is
// verified: that was for the gatekeeper.
func Whose(c jjm.Credential) (subject, issuer, vo string) {
	if c.Kind == jjm.TokenKind {
		t, _ := claimsOf(string(c.Secret))
		if len(t.Groups) > 0 {
			vo = t.Groups[0]
		}
		return t.Subject, t.Issuer, vo
	}
	for _, cert := range certificates(string(c.Secret)) {
		if vo == "" {
			vo = vomsName(cert)
		}
		if !isProxy(cert) {
			return slashName(cert.RawSubject), "", vo
		}
	}
	return "", "", vo
}

// certificates are those of a proxy's file, in its order: the proxy comes first.
func certificates(text string) []*x509.Certificate {
	var all []*x509.Certificate
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return all
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, cert)
		}
	}
}

// Object identifiers: ProxyCertInfo (RFC 3820, section 3.8) and that of its draft;
// the attribute certificates in a VOMS proxy and their names (GFD.182).
var (
	proxyInfo      = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 14}
	draftProxyInfo = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 3536, 1, 222}
	vomsList       = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 5}
	vomsNames      = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 4}
)

// isProxy reports whether a certificate is a proxy; those older than the
// extension are told by their names.
func isProxy(cert *x509.Certificate) bool {
	for _, e := range cert.Extensions {
		if e.Id.Equal(proxyInfo) || e.Id.Equal(draftProxyInfo) {
			return true
		}
	}
	name := slashName(cert.RawSubject)
	return strings.HasSuffix(name, "/CN=proxy") || strings.HasSuffix(name, "/CN=limited proxy")
}

// slashName writes a distinguished name as Globus does: /O=Grid/CN=somebody.
func slashName(raw []byte) string {
	var names pkix.RDNSequence
	if _, err := asn1.Unmarshal(raw, &names); err != nil {
		return ""
	}
	short := map[string]string{"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O",
		"2.5.4.11":                  "OU",
		"0.9.2342.19200300.100.1.1": "USERID", "0.9.2342.19200300.100.1.25": "DC", "1.2.840.113549.1.9.1": "emailAddress"}
	var b strings.Builder
	for _, set := range names {
		for _, a := range set {
			kind := short[a.Type.String()]
			if kind == "" {
				kind = a.Type.String()
			}
			value, _ := a.Value.(string)
			b.WriteString("/" + kind + "=" + value)
		}
	}
	return b.String()
}

// vomsName returns the first name in the attribute certificates of a proxy, without
// what VOMS writes for nothing: "/dzero/Role=production".
func vomsName(cert *x509.Certificate) string {
	for _, e := range cert.Extensions {
		if !e.Id.Equal(vomsList) {
			continue
		}
		name := firstName(e.Value, false, 0)
		return strings.TrimSuffix(strings.TrimSuffix(name, "/Capability=NULL"), "/Role=NULL")
	}
	return ""
}

// maxDepth bounds how deep an attribute certificate is nested: the names are at
// the eighth level.
const maxDepth = 16

// firstName searches for the attribute of names, and in it for the first text:
// the few levels in between hold nothing else of these types.
func firstName(der []byte, inside bool, depth int) string {
	for found := inside; len(der) > 0 && depth < maxDepth; {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(der, &v)
		if err != nil {
			return ""
		}
		var id asn1.ObjectIdentifier
		switch {
		case inside && v.Class == asn1.ClassUniversal && v.Tag == asn1.TagOctetString:
			return string(v.Bytes)
		case v.Class == asn1.ClassUniversal && v.Tag == asn1.TagOID:
			_, err := asn1.Unmarshal(v.FullBytes, &id)
			found = found || err == nil && id.Equal(vomsNames)
		case v.IsCompound && v.Class == asn1.ClassUniversal:
			if name := firstName(v.Bytes, found, depth+1); name != "" {
				return name
			}
		}
		der = rest
	}
	return ""
}
