package main

import (
	"io"
	"strings"
	"unicode/utf8"

	"jjm/internal/api/plain"
)

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
	_, err := io.WriteString(t.w, plain.PrintableLines(string(text[:cut])))
	return len(b), err
}

// field returns a value for a line of fields: without blanks and never empty.
func field(s string) string {
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(plain.Printable(s), " ", `\x20`)
}

// end writes the bytes of a last, incomplete character.
func (t *terminalWriter) end() { _, _ = io.WriteString(t.w, plain.PrintableLines(string(t.rest))) }

// orDash returns the text of a table cell: "-" for "".
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return plain.Printable(s)
}
