// Package differ shows where two texts differ, for messages to people.
package differ

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// before is the number of equal bytes that are shown before the first difference. most is the total number of bytes
// that are shown of each text.
const (
	before = 40
	most   = 150
)

// First describes the first difference between a text and its former text, with some bytes before the difference. If
// the texts have several lines, it shows the first line that differs, with its number. It returns "" if the texts are
// equal.
func First(now, was string) string {
	if now == was {
		return ""
	}
	at, lines, others := "", strings.Split(now, "\n"), strings.Split(was, "\n")
	if len(lines)+len(others) > 2 {
		n := 0
		for n < len(lines) && n < len(others) && lines[n] == others[n] {
			n++
		}
		now, was = quoted(lines, n), quoted(others, n)
		at = fmt.Sprintf("differs from line %d on: it ", n+1)
	}
	from := 0
	for from < len(now) && from < len(was) && now[from] == was[from] {
		from++
	}
	from -= before
	return fmt.Sprintf("%sis %s, was %s", at, cut(now, from), cut(was, from))
}

// quoted returns line n in quotes, or "absent" if n is after the last line.
func quoted(lines []string, n int) string {
	if n >= len(lines) {
		return "absent"
	}
	return fmt.Sprintf("%q", lines[n])
}

// cut returns a text from a byte on, shortened to the bytes that are shown.
func cut(text string, from int) string {
	head, tail := "", ""
	if from > 0 {
		for from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
		head, text = "...", text[min(from, len(text)):]
	}
	if len(text) > most {
		end := most
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text, tail = text[:end], "..."
	}
	return head + text + tail
}
