package web

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// maxText bounds a text that other programs or people wrote, in characters.
const maxText = 600

// shown returns the functions of the templates.
func shown() template.FuncMap {
	return template.FuncMap{
		"plain":      inert,
		"instant":    func(t jjm.Time) string { return t.Time().Format(time.RFC3339) },
		"local":      func(t jjm.Time) string { return t.Local() },
		"span":       func(from, to jjm.Time) string { return jjm.HowLong(to.Sub(from)) },
		"done":       done,
		"mostSorted": func() int { return mostSorted },
		"hosts":      func(n int) string { return jjm.Count(n, "host") },
		"jobs":       func(n int) string { return jjm.Count(n, "local job") },
		"hostHeads":  hostHeads,
	}
}

// inert returns a text whose control characters, and marks that change the direction of text, are shown as escapes. A
// long text is cut.
func inert(s string) string {
	var b strings.Builder
	n := 0
	for len(s) > 0 {
		if n++; n > maxText {
			b.WriteString(" ...")
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteString(s[:size])
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// done returns the number of completed local jobs and the expected number, as text for people.
func done(c wire.Counts) string {
	return fmt.Sprintf("%d of %d completed", c.Completed, max(c.Expected, c.Total))
}

// count is a number with its word.
type count struct {
	Word string
	N    int
}

// countsOf returns the numbers of local jobs that are not 0, with the words of their states.
func countsOf(c wire.Counts) []count {
	return some([]count{{"new", c.New}, {"submitting", c.Submitting}, {"submitted", c.Submitted}, {"running", c.Running},
		{"completing", c.Completing}, {"completed", c.Completed}, {"failed", c.Failed}, {"killed", c.Killed},
		{"held", c.Held}, {"given back", c.GivenBack}})
}

// some returns the counts that are not 0.
func some(all []count) (out []count) {
	for _, c := range all {
		if c.N != 0 {
			out = append(out, c)
		}
	}
	return out
}
