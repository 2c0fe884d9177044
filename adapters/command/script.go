package command

import (
	"fmt"
	"strings"
	"unicode"

	"jjm/adapters"
)

// write returns the script of a bulk, with the directives at its head.
func (s script) write(b adapters.Bulk, i ids, directives []string) string {
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

// checkDirective returns an error if a directive is not allowed.
func (s script) checkDirective(directive string) error {
	if len(s.directive.parts) == 0 {
		return fmt.Errorf("%.60q: the description of this cluster has no job.directive", directive)
	}
	if strings.IndexFunc(directive, unicode.IsControl) >= 0 {
		return fmt.Errorf("%.60q: want one line of plain text", directive)
	}
	for word := range strings.FieldsSeq(directive) {
		if r := s.reserves(word); r != "" {
			return fmt.Errorf("%.60q: %s is set by jjm itself: leave it out", directive, r)
		}
	}
	return nil
}

// reserves returns the reserved option that a word of a directive may mean. The word may be the option itself, the
// option with an attached value, or an abbreviation of a long option (getopt_long(3)).
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
