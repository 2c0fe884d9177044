package main

import (
	"io"
	"strings"
	"unicode/utf8"

	"jjm/internal/api/plain"
)

// terminalWriter writes text to a terminal in the form that plain.PrintableLines returns. If a write ends within a
// character, the bytes of this character are written together with the next write, or by end.
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
	_, err := io.WriteString(t.w, plain.PrintableLines(string(text[:cut])))
	return len(b), err
}

// field returns a value for an output line of fields that blanks separate: it contains no blanks and is never empty.
func field(s string) string {
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(plain.Printable(s), " ", `\x20`)
}

// end writes the bytes of an incomplete last character.
func (t *terminalWriter) end() { _, _ = io.WriteString(t.w, plain.PrintableLines(string(t.rest))) }

// orDash returns a text for the cell of a table: printable, and "-" instead of "".
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return plain.Printable(s)
}
