package advertise

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ad is a ClassAd in which every value is a literal. Its attributes are in the order in
// which they are written.
type Ad []Attr

// Attr is one attribute. Its name must be a ClassAd identifier.
type Attr struct {
	Name  string
	Value Value
}

// Value is a string, an int, an int64, a bool, a Count, a List, or a nested Ad.
type Value any

// List is a list of values.
type List []Value

// Text formats the ad in the form that every version of condor_advertise can read: one attribute per line, each with a
// line end ("old" ClassAds in the ClassAds section of HTCondor's manual).
func (a Ad) Text() string {
	var b strings.Builder
	for _, attr := range a {
		b.WriteString(attr.Name + " = ")
		write(&b, attr.Value)
		b.WriteByte('\n')
	}
	return b.String()
}

// Get returns the value of an attribute, nil if the ad has no such attribute.
func (a Ad) Get(name string) Value {
	for _, attr := range a {
		if attr.Name == name {
			return attr.Value
		}
	}
	return nil
}

func write(b *strings.Builder, v Value) {
	switch v := v.(type) {
	case string:
		b.WriteString(quote(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case Count:
		if n, known := v.Get(); known {
			b.WriteString(strconv.Itoa(n))
		} else {
			b.WriteString("undefined")
		}
	case List:
		b.WriteString("{")
		for i, e := range v {
			b.WriteString([...]string{" ", ", "}[min(i, 1)])
			write(b, e)
		}
		b.WriteString(" }")
	case Ad:
		b.WriteString("[")
		for i, attr := range v {
			b.WriteString([...]string{" ", "; "}[min(i, 1)] + attr.Name + " = ")
			write(b, attr.Value)
		}
		b.WriteString(" ]")
	default:
		panic("advertise: a ClassAd cannot hold this kind of value")
	}
}

// quote returns a string literal. Old ClassAds have only the escape \" for a quote. Any other backslash means itself, a
// backslash before the closing quote is misread, and a line end cannot be escaped. Therefore quote first calls Safe,
// which replaces these characters.
func quote(s string) string { return `"` + strings.ReplaceAll(Safe(s), `"`, `\"`) + `"` }

// Safe returns the form of a text in an ad. It writes the bytes of unprintable characters, of invalid UTF-8 and of
// backslashes as \xNN, with two hexadecimal digits, and keeps all other characters. Different texts stay different.
// Plain is the inverse of Safe.
func Safe(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, unsafe) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if unsafe(r) || r == utf8.RuneError && n == 1 {
			for _, c := range []byte(s[:n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func unsafe(r rune) bool { return r == '\\' || !unicode.IsPrint(r) }

// Plain returns the text from which Safe made s. Text that Safe does not produce is kept unchanged.
func Plain(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\x`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		c, err := strconv.ParseUint(after[:min(len(after), 2)], 16, 8)
		if err != nil || len(after) < 2 {
			b.WriteString(`\x`)
			s = after
			continue
		}
		b.WriteByte(byte(c))
		s = after[2:]
	}
}
