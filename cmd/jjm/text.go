package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"jjm"
)

// printable makes text that came from outside harmless on a terminal, in one
// line: what does not print, control characters and direction marks among it,
// is written as in Go strings.
func printable(s string) string { return escape(s, "") }

// printableLines is printable that keeps newlines and tabs.
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

// terminalWriter makes a stream of bytes harmless on a terminal. A character
// cut in two by a write is put together.
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

// field is a value in a line of fields: no blank, never empty.
func field(s string) string {
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(printable(s), " ", `\x20`)
}

// clock writes a time for people, in their zone; "-" for none.
func clock(t jjm.Time) string {
	if t == 0 {
		return "-"
	}
	return t.Time().Local().Format("2006-01-02 15:04:05")
}

// table writes rows in aligned columns.
func (c *cli) table(rows [][]string) error {
	w := tabwriter.NewWriter(c.out, 0, 1, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = printable(cell); cell == "" {
				cells[i] = "-"
			}
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// facts writes "name  value" lines; those without a value are left out.
func (c *cli) facts(rows [][2]string) error {
	var kept [][]string
	for _, r := range rows {
		if r[1] != "" && r[1] != "-" {
			kept = append(kept, []string{"  " + r[0], r[1]})
		}
	}
	return c.table(kept)
}

// end writes what is left of a character that never became whole.
func (t *terminalWriter) end() { _, _ = io.WriteString(t.w, printableLines(string(t.rest))) }
