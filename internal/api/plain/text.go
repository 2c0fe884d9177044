// Package plain writes facts from answers of the daemon as plain text for people: times, counts of local jobs, causes
// of failures, and texts from outside in a form that cannot control a terminal. It is pure. The program jjm and the
// report of a grid job share it, so that both use the same words.
package plain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// Bytes returns a size for people: "812 bytes", and from 0.1 MB on "1.3 MB", in units of 1000.
func Bytes(n int64) string {
	const mega = 1_000_000
	if n < mega/10 {
		return jjm.Count(int(n), "byte")
	}
	return fmt.Sprintf("%.1f MB", float64(n)/mega)
}

// Printable returns text from outside on one line and in a form that cannot control a terminal. Characters that do not
// print, such as control characters and direction marks, are escaped in the way of Go strings.
func Printable(s string) string { return escape(s, "") }

// PrintableLines is [Printable], but it keeps newlines and tabs.
func PrintableLines(s string) string { return escape(s, "\n\t") }

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

// Percent returns a fraction, 0 to 1, as a number of percent with one decimal. Only the whole is "100", and only
// nothing is "0".
func Percent(fraction float64) string {
	switch {
	case fraction <= 0:
		return "0"
	case fraction >= 1:
		return "100"
	}
	return fmt.Sprintf("%.1f", min(max(100*fraction, 0.1), 99.9))
}

// Share returns a fraction for people: "6.9 %". Unlike Percent, it shows a fraction above 1 as it is.
func Share(fraction float64) string {
	if fraction > 1 {
		return fmt.Sprintf("%.1f %%", 100*fraction)
	}
	return Percent(fraction) + " %"
}
