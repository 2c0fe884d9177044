package credential

import (
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// DN is a distinguished name in canonical form, root first. Two texts that name the same
// subject parse to equal DNs, whatever their notation, attribute abbreviations, case,
// blanks and escapes.
type DN []rdn

// rdn is one element of a name: one attribute, or the sorted attributes of a multi-valued
// element (RFC 4514, section 2.2).
type rdn []attribute

// attribute is one attribute of a name. kind is its type, as the usual short name in lower case; value is its folded
// value (see foldValue).
type attribute struct{ kind, value string }

// attributeName returns the usual short name of an attribute. It knows the names that OpenSSL, Globus, Java and RFC
// 4519 use, and the object identifiers. An unknown kind is returned unchanged, but without the prefix "oid.".
func attributeName(kind string) string {
	switch kind = strings.TrimPrefix(kind, "oid."); kind {
	case "commonname", "2.5.4.3":
		return "cn"
	case "surname", "2.5.4.4":
		return "sn"
	case "2.5.4.5":
		return "serialnumber"
	case "countryname", "2.5.4.6":
		return "c"
	case "localityname", "2.5.4.7":
		return "l"
	case "s", "sp", "stateorprovincename", "2.5.4.8":
		return "st"
	case "streetaddress", "2.5.4.9":
		return "street"
	case "organizationname", "2.5.4.10":
		return "o"
	case "organizationalunitname", "2.5.4.11":
		return "ou"
	case "t", "2.5.4.12":
		return "title"
	case "givenname", "g", "2.5.4.42":
		return "gn"
	case "userid", "0.9.2342.19200300.100.1.1":
		return "uid"
	case "domaincomponent", "0.9.2342.19200300.100.1.25":
		return "dc"
	case "e", "emailaddress", "pkcs9email", "1.2.840.113549.1.9.1":
		return "email"
	}
	return kind
}

// ParseDN reads a name in any of three notations. The error is of kind Invalid.
//
//	OpenSSL, Globus      /DC=org/CN=Mallory
//	RFC 2253, RFC 4514   CN=Mallory,DC=org
//	openssl-x509(1)      DC = org, CN = Mallory
func ParseDN(text string) (DN, error) {
	parts, err := cutDN(text)
	if err != nil {
		return nil, err
	}
	var dn DN
	for _, part := range parts {
		var r rdn
		for _, one := range part {
			a, err := parseAttribute(one, strings.HasPrefix(text, "/"))
			if err != nil {
				return nil, err
			}
			r = append(r, a)
		}
		slices.SortFunc(r, compareAttributes)
		dn = append(dn, r)
	}
	if !strings.HasPrefix(text, "/") && dn.leafFirst() {
		slices.Reverse(dn)
	}
	return dn, nil
}

func compareAttributes(a, b attribute) int {
	return strings.Compare(a.kind+"="+a.value, b.kind+"="+b.value)
}

// leafFirst reports whether a name with commas is written leaf first, as RFC 4514 says. openssl-x509(1) writes root
// first. The attributes that only a root has (DC, C, O) decide: the name is root first if it begins with such an
// attribute and does not also end with one.
func (d DN) leafFirst() bool {
	root := func(r rdn) bool { return slices.Contains([]string{"dc", "c", "o"}, r[0].kind) }
	return len(d) < 2 || !root(d[0]) || root(d[len(d)-1])
}

// cutDN cuts a name into its elements, and each element into its attributes. Escapes and quotes are kept.
func cutDN(text string) ([][]string, error) {
	slashes := strings.HasPrefix(text, "/")
	rest := strings.TrimPrefix(text, "/")
	parts := [][]string{{}}
	begin, quoted := 0, false
	take := func(end int) {
		last := len(parts) - 1
		parts[last] = append(parts[last], rest[begin:end])
		begin = end + 1
	}
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\':
			i++
		case c == '"' && !slashes:
			quoted = !quoted
		case quoted:
		case c == '+' && beginsAttribute(rest[i+1:]):
			take(i)
		case slashes && c == '/' && beginsAttribute(rest[i+1:]), !slashes && (c == ',' || c == ';'):
			take(i)
			parts = append(parts, nil)
		}
	}
	if quoted {
		return nil, jjm.Errorf(jjm.Invalid, "DN %.80q: a quote is not closed", text)
	}
	take(len(rest))
	return parts, nil
}

// beginsAttribute reports whether a text begins with TYPE=.
func beginsAttribute(text string) bool {
	kind, _, found := strings.Cut(text, "=")
	return found && isAttribute(strings.TrimSpace(kind))
}

func isAttribute(kind string) bool {
	for _, c := range []byte(kind) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-') {
			return false
		}
	}
	return kind != ""
}

func parseAttribute(text string, slashes bool) (attribute, error) {
	kind, value, found := strings.Cut(text, "=")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if !found || !isAttribute(kind) {
		return attribute{}, jjm.Errorf(jjm.Invalid, "DN element %.80q: want TYPE=VALUE, such as CN=Mallory", text)
	}
	kind = attributeName(kind)
	if slashes {
		value = unescapeSlashes(value)
	} else {
		value = unescapeCommas(strings.TrimSpace(value))
	}
	return attribute{kind, foldValue(value)}, nil
}

// unescapeSlashes undoes the escapes of X509_NAME_oneline(3): \xHH for a byte and, since OpenSSL 3.0, a backslash in
// front of a separator. Any other backslash stands for itself.
func unescapeSlashes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if s[i+1] == 'x' && i+3 < len(s) {
			if raw, err := hex.DecodeString(s[i+2 : i+4]); err == nil {
				b.Write(raw)
				i += 3
				continue
			}
		}
		if strings.IndexByte(`/+\`, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapeCommas undoes the escapes of RFC 4514, section 2.4, and the quotes that RFC
// 2253, section 4, still allows.
func unescapeCommas(s string) string {
	if text, ok := hexValue(s); ok {
		return text
	}
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if i+2 < len(s) {
				if raw, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
					b.Write(raw)
					i += 2
					continue
				}
			}
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// hexValue decodes a value written as the hex digits of its BER encoding (RFC 4514,
// section 2.4): #0C024869 is "Hi". ok is false for any other text, and for values that
// are not strings.
func hexValue(s string) (text string, ok bool) {
	digits, found := strings.CutPrefix(s, "#")
	raw, err := hex.DecodeString(digits)
	if !found || err != nil {
		return "", false
	}
	var v asn1.RawValue
	if rest, err := asn1.Unmarshal(raw, &v); err != nil || len(rest) > 0 || v.IsCompound ||
		v.Class != asn1.ClassUniversal {
		return "", false
	}
	switch v.Tag {
	case asn1.TagBMPString:
		var units []uint16
		for i := 0; i+1 < len(v.Bytes); i += 2 {
			units = append(units, uint16(v.Bytes[i])<<8|uint16(v.Bytes[i+1]))
		}
		return string(utf16.Decode(units)), true
	case asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagIA5String, asn1.TagT61String, asn1.TagNumericString,
		asn1.TagGeneralString, asn1.TagOctetString:
		return string(v.Bytes), true
	}
	return "", false
}

// foldValue returns the form in which values are compared (RFC 4518): without case, with one
// blank between words and none around them. A value that is not UTF-8 is read as Latin-1, which
// old certificates use.
func foldValue(s string) string {
	if !utf8.ValidString(s) {
		runes := make([]rune, len(s))
		for i := range len(s) {
			runes[i] = rune(s[i])
		}
		s = string(runes)
	}
	return strings.Join(strings.Fields(strings.Map(foldRune, s)), " ")
}

// foldRune returns the same rune for all letters that differ only in case.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// String returns the name in the notation of OpenSSL 3, in lower case.
func (d DN) String() string {
	var b strings.Builder
	for _, r := range d {
		for i, a := range r {
			b.WriteByte("/+"[min(i, 1)])
			b.WriteString(a.kind + "=")
			a.write(&b)
		}
	}
	return b.String()
}

func (a attribute) write(b *strings.Builder) {
	for _, r := range a.value {
		switch {
		case r == '/' || r == '+' || r == '\\':
			b.WriteString(`\` + string(r))
		case unicode.IsControl(r):
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(b, `\x%02X`, c)
			}
		default:
			b.WriteRune(r)
		}
	}
}

// Covers reports whether other is this name, or the name of one of its proxy certificates, which has further CN
// elements (RFC 3820, section 3.4). OpenSSL before 3.0 writes a multi-valued element as several elements, so Covers
// joins elements of either name until both have the same number of attributes.
func (d DN) Covers(other DN) bool {
	var mine, theirs []attribute
	at := 0
	for at < len(d) && len(other) > 0 {
		mine, at = append(mine, d[at]...), at+1
		for len(theirs) < len(mine) && len(other) > 0 {
			theirs, other = append(theirs, other[0]...), other[1:]
		}
		for len(mine) < len(theirs) && at < len(d) {
			mine, at = append(mine, d[at]...), at+1
		}
		if len(mine) != len(theirs) {
			return false
		}
		slices.SortFunc(mine, compareAttributes)
		slices.SortFunc(theirs, compareAttributes)
		if !slices.Equal(mine, theirs) {
			return false
		}
		mine, theirs = nil, nil
	}
	return len(d) > 0 && at == len(d) && !slices.ContainsFunc(other, func(r rdn) bool {
		return len(r) != 1 || r[0].kind != "cn"
	})
}

// SameDN reports whether two texts name the same subject. If a text is not a DN, such as the subject of a token, the
// texts are compared without regard to case and blanks.
func SameDN(a, b string) bool { return CanonicalDN(a) == CanonicalDN(b) }

// CanonicalDN returns the same text for all notations of a name. A text that is not a DN is only folded (see
// foldValue).
func CanonicalDN(text string) string {
	dn, err := ParseDN(strings.TrimSpace(text))
	if err != nil {
		return foldValue(text)
	}
	return dn.String()
}
