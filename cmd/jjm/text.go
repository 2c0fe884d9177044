package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable returns text from outside on one line and in a form that cannot control a terminal. Characters that do not
// print, such as control characters and direction marks, are escaped in the way of Go strings.
func printable(s string) string { return escape(s, "") }

// printableLines is printable, but it keeps newlines and tabs.
func printableLines(s string) string { return escape(s, "\n\t") }

func escape(s, keep string) string {
	harmless := func(r rune) bool { return unicode.IsPrint(r) || strings.ContainsRune(keep, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !harmless(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case harmless(r):
			b.WriteString(s[:n])
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
		s = s[n:]
	}
	return b.String()
}

// terminalWriter passes a stream on as printableLines returns it. If a write ends within a character, the character
// is written with the next write, or by end.
type terminalWriter struct {
	w    io.Writer
	rest []byte
}

func (t *terminalWriter) Write(b []byte) (int, error) {
	text := append(t.rest, b...)
	cut := len(text)
	for i := max(0, cut-utf8.UTFMax+1); i < cut; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			cut = i
		}
	}
	t.rest = append([]byte(nil), text[cut:]...)
	_, err := io.WriteString(t.w, printableLines(string(text[:cut])))
	return len(b), err
}

// field returns a value for a line of fields: without blanks and never empty.
func field(s string) string {
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(printable(s), " ", `\x20`)
}

// end writes the bytes of a last, incomplete character.
func (t *terminalWriter) end() { _, _ = io.WriteString(t.w, printableLines(string(t.rest))) }

// orDash returns the text of a table cell: "-" for "".
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return printable(s)
}
