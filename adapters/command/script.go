package command

import (
	"strings"
	"unicode"

	"jjm"
	"jjm/adapters"
)

// text makes the script of a bulk, with the directives in its head.
func (s script) text(b adapters.Bulk, i ids, directives []string) string {
	index, id := i.shell(s.idVariable, s.indexVariable)
	text := adapters.JobScript(b, index, id)
	if len(directives) == 0 {
		return text
	}
	first, rest, _ := strings.Cut(text, "\n")
	var head strings.Builder
	head.WriteString(first + "\n")
	for _, d := range directives {
		head.WriteString(s.directive.fill(values{words: map[string]string{"DIRECTIVE": d}}, "") + "\n")
	}
	return head.String() + rest
}

// check finds a directive that cannot be passed on, or that jjm itself must
// own. From names who asked for it.
func (s script) check(from string, directives []string) error {
	for _, d := range directives {
		if len(s.directive.parts) == 0 {
			return jjm.Errorf(jjm.Invalid, "%s: %.60q: the description of this cluster has no job.directive", from, d)
		}
		if strings.IndexFunc(d, unicode.IsControl) >= 0 {
			return jjm.Errorf(jjm.Invalid, "%s: %.60q: want one line of plain text", from, d)
		}
		for word := range strings.FieldsSeq(d) {
			if r := s.reserves(word); r != "" {
				return jjm.Errorf(jjm.Invalid, "%s: %.60q: %s is set by jjm itself: leave it out", from, d, r)
			}
		}
	}
	return nil
}

// reserves gives the reserved option that a word may be: the option, the option
// with a value attached, or an abbreviation of a long one (getopt_long(3)).
func (s script) reserves(word string) string {
	name, _, _ := strings.Cut(word, "=")
	for _, r := range s.reserved {
		long := strings.HasPrefix(r, "--")
		switch {
		case name == r,
			long && len(name) > 2 && strings.HasPrefix(r, name),
			!long && len(r) == 2 && !strings.HasPrefix(word, "--") && strings.HasPrefix(word, r):
			return r
		}
	}
	return ""
}

// splitDirectives gives the lines of a text without empty ones.
func splitDirectives(text string) []string {
	var all []string
	for line := range lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
