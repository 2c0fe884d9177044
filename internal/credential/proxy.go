package credential

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"strings"
)

// ofProxy returns the facts of a proxy certificate, or of any other chain of certificates.
func ofProxy(text string) Facts {
	var f Facts
	ofUser := true // false for the certificates of authorities, which follow the user's certificate
	for _, cert := range certificates(text) {
		if f.End.IsZero() || cert.NotAfter.Before(f.End) {
			f.End = cert.NotAfter
		}
		if ofUser && f.VO == "" {
			f.VO = vomsName(cert)
		}
		if ofUser && !isProxy(cert) {
			f.Subject, ofUser = slashName(cert.RawSubject), false
		}
	}
	return f
}

// certificates returns the certificates in a proxy's file, in order: the proxy comes first. Certificates that cannot be
// parsed are skipped.
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

// Object identifiers: ProxyCertInfo (RFC 3820, section 3.8) and the identifier in the draft of that RFC; the attribute
// certificates in a VOMS proxy, and the names in these certificates (GFD.182).
var (
	proxyInfo      = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 14}
	draftProxyInfo = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 3536, 1, 222}
	vomsList       = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 5}
	vomsNames      = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 8005, 100, 100, 4}
)

// isProxy reports whether a certificate is a proxy. It recognizes proxies from before the extension existed by their
// names.
func isProxy(cert *x509.Certificate) bool {
	for _, e := range cert.Extensions {
		if e.Id.Equal(proxyInfo) || e.Id.Equal(draftProxyInfo) {
			return true
		}
	}
	name := slashName(cert.RawSubject)
	return strings.HasSuffix(name, "/CN=proxy") || strings.HasSuffix(name, "/CN=limited proxy")
}

// slashName returns a distinguished name in the form of Globus: /O=Grid/CN=somebody. It returns "" if the name cannot
// be parsed.
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

// vomsName returns the first name in the attribute certificates of a proxy, without the
// empty parts that VOMS adds (Role=NULL, Capability=NULL): "/dzero/Role=production".
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

// maxDepth is the largest nesting of an attribute certificate that is searched; the names are at the eighth level.
const maxDepth = 16

// firstName searches der for the attribute vomsNames, and within that attribute (inside is true) for the first octet
// string. The levels between contain no other octet strings.
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
