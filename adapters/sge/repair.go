package sge

import (
	"regexp"
	"strings"
)

// Grid Engine 8.1.9 writes two things into the XML of qstat -j that are none:
// it names elements after its own lists, with names that are no names, as long
// as a task that was rescheduled waits for the clean-up of its last run
//
//	<job ids><ULNG_value>1730</ULNG_value></job ids>
//
// and some of its messages hold marks as they are: "task <1730.9> ...".

var (
	// A message is text up to its end, whatever it holds.
	message = regexp.MustCompile(`(?s)(<(?:MES|QIM)_message>)(.*?)(</(?:MES|QIM)_message>)`)
	entity  = regexp.MustCompile(`^&(?:[a-z]{2,4}|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});`)
	element = regexp.MustCompile(`<(/?)([^<>]*)>`)
	// name and attributes, as XML has them
	sound = regexp.MustCompile(`^[A-Za-z_:][\w:.-]*(?:\s+[A-Za-z_:][\w:.-]*\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?$`)
)

// listName is what Grid Engine calls an element that has no name of its own.
const listName = "ulong_sublist"

// repair makes XML of what qstat -j printed: messages hold no marks, and
// elements without a sound name are lists like others. What it does not
// understand it leaves, for the parser to refuse.
func repair(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range message.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(renamed(text[at:m[3]]))
		out.WriteString(escaped(text[m[4]:m[5]]))
		at = m[6]
	}
	out.WriteString(renamed(text[at:]))
	return out.String()
}

// escaped makes text of marks.
func escaped(text string) string {
	text = strings.ReplaceAll(text, "]]>", "]]&gt;")
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	var out strings.Builder
	for i, c := range []byte(text) {
		switch {
		case c == '<':
			out.WriteString("&lt;")
		case c == '&' && !entity.MatchString(text[i:]):
			out.WriteString("&amp;")
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// renamed returns elements a sound name.
func renamed(text string) string {
	return element.ReplaceAllStringFunc(text, func(t string) string {
		m := element.FindStringSubmatch(t)
		if m[2] == "" || strings.ContainsAny(m[2][:1], "?!") || sound.MatchString(m[2]) {
			return t
		}
		return "<" + m[1] + listName + ">"
	})
}
