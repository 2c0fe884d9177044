package sge

import (
	"regexp"
	"strings"
)

// Grid Engine 8.1.9 writes two things into the XML of qstat -j that are not XML. While a
// rescheduled task waits for the clean-up of its last run, it names elements after its own
// lists, with blanks:
//
//	<job ids><ULNG_value>1730</ULNG_value></job ids>
//
// And some of its messages contain unescaped marks: "task <1730.9> ...".

var (
	// A message extends up to its end mark.
	message = regexp.MustCompile(`(?s)(<(?:MES|QIM)_message>)(.*?)(</(?:MES|QIM)_message>)`)
	entity  = regexp.MustCompile(`^&(?:[a-z]{2,4}|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});`)
	xmlTag  = regexp.MustCompile(`<(/?)([^<>]*)>`)
	// a valid name and its attributes in XML
	validName = regexp.MustCompile(`^[A-Za-z_:][\w:.-]*(?:\s+[A-Za-z_:][\w:.-]*\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?$`)
)

// listName is the name that Grid Engine uses for an element without its own name.
const listName = "ulong_sublist"

// repair converts the output of qstat -j into XML: it escapes messages, and renames elements without a valid name to
// listName. Other faults remain, and the parser reports them.
func repair(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range message.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(fixNames(text[at:m[3]]))
		out.WriteString(escapeMarks(text[m[4]:m[5]]))
		at = m[6]
	}
	out.WriteString(fixNames(text[at:]))
	return out.String()
}

// escapeMarks escapes "<" and "&".
func escapeMarks(text string) string {
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

// fixNames renames elements without a valid name to listName.
func fixNames(text string) string {
	return xmlTag.ReplaceAllStringFunc(text, func(t string) string {
		m := xmlTag.FindStringSubmatch(t)
		if m[2] == "" || strings.ContainsAny(m[2][:1], "?!") || validName.MatchString(m[2]) {
			return t
		}
		return "<" + m[1] + listName + ">"
	})
}
