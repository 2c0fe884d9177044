// Package xmltext writes XML 1.0 by appending to a byte slice. It is fast, because a record of a hundred thousand local
// jobs must be written within a second. Its output can always be parsed: characters that XML cannot represent become
// U+FFFD. It does not check the names in its arguments.
package xmltext

import (
	"strconv"
	"unicode/utf8"

	"jjm/internal/jjm"
)

const bad = "\uFFFD"

// Text appends s as character data. The result has no raw carriage return, which a reader
// would turn into a newline.
func Text(b []byte, s string) []byte { return escape(b, s, false) }

// Attr appends ` name="s"`. White space other than the blank becomes a character reference, because a reader would
// normalise it.
func Attr(b []byte, name, s string) []byte {
	b = append(b, ' ')
	b = append(b, name...)
	b = append(b, '=', '"')
	b = escape(b, s, true)
	return append(b, '"')
}

// OptAttr does the same as Attr, but appends nothing for an empty s.
func OptAttr(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return Attr(b, name, s)
}

// Int appends ` name="n"`.
func Int(b []byte, name string, n int64) []byte {
	b = append(b, ' ')
	b = append(b, name...)
	b = append(b, '=', '"')
	b = strconv.AppendInt(b, n, 10)
	return append(b, '"')
}

// Flag appends ` name="true"` if on is set.
func Flag(b []byte, name string, on bool) []byte {
	if !on {
		return b
	}
	return Attr(b, name, "true")
}

// timeForm is xs:dateTime in UTC, the form of jjm.Time.String.
const timeForm = "2006-01-02T15:04:05.000Z"

// Times outside the years 1 to 9999 have no xs:dateTime that every reader accepts.
const (
	firstTime jjm.Time = -62135596800000 // 0001-01-01T00:00:00.000Z
	lastTime  jjm.Time = 253402300799999 // 9999-12-31T23:59:59.999Z
)

// Time appends ` name="2026-01-02T15:04:05.000Z"`. It appends nothing for 0 or for a time outside the years 1 to 9999.
func Time(b []byte, name string, t jjm.Time) []byte {
	if t == 0 || t < firstTime || t > lastTime {
		return b
	}
	b = append(b, ' ')
	b = append(b, name...)
	b = append(b, '=', '"')
	b = t.Time().AppendFormat(b, timeForm)
	return append(b, '"')
}

// Cut shortens s to at most n bytes, at a character boundary, and reports whether s was longer.
func Cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}

// escape appends s with its special characters escaped. It copies each run of bytes that need no escape in one step.
func escape(b []byte, s string, attr bool) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			rep := replacement(c, attr)
			if rep != "" {
				b = append(b, s[start:i]...)
				b = append(b, rep...)
				start = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == 0xFFFE || r == 0xFFFF {
			b = append(b, s[start:i]...)
			b = append(b, bad...)
			start = i + n
		}
		i += n
	}
	return append(b, s[start:]...)
}

// replacement returns the escape of an ASCII character, "" if it needs none.
func replacement(c byte, attr bool) string {
	switch {
	case c == '&':
		return "&amp;"
	case c == '<':
		return "&lt;"
	case c == '>':
		return "&gt;"
	case c == '\r':
		return "&#13;"
	case c == '"' && attr:
		return "&#34;"
	case c == '\n' && attr:
		return "&#10;"
	case c == '\t' && attr:
		return "&#9;"
	case c < 0x20 && c != '\n' && c != '\t':
		return bad
	}
	return ""
}
