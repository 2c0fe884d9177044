package command

import (
	"regexp"
	"strings"
)

// pattern matches a line of an output. It always matches a whole line, apart from blanks at the line's end, so that a
// banner that quotes an answer does not match.
type pattern struct {
	// empty is set for a pattern that matches an output without any text.
	empty bool
	// fixed is the regular expression; nil if the template contains values of the call.
	fixed    *regexp.Regexp
	template template
	// bulkID and jobID are regular expressions for the ids of this batch system.
	bulkID, jobID string
	// perJob is set if the line names the job that the line concerns.
	perJob bool
}

// These are the names in a pattern. The first three capture text; the others only skip text.
const (
	nameBulkID  = "BATCH_JOB_ID"
	nameJobID   = "JOB_ID"
	nameMessage = "MESSAGE"
	nameAny     = "ANY"
	nameWord    = "WORD"
	nameNumber  = "NUMBER"
)

// captured are the names of the groups that find returns.
var captured = []string{nameBulkID, nameJobID, nameMessage}

// expression returns the regular expression of the pattern, with the values of a call in place of their names.
func (p pattern) expression(v values) *regexp.Regexp {
	if p.fixed != nil {
		return p.fixed
	}
	var s strings.Builder
	seen := map[string]bool{}
	for _, part := range p.template.parts {
		switch part.name {
		case "":
			s.WriteString(regexp.QuoteMeta(part.literal))
		case nameBulkID:
			s.WriteString(group(nameBulkID, p.bulkID, seen))
		case nameJobID:
			s.WriteString(group(nameJobID, p.jobID, seen))
		case nameMessage:
			s.WriteString(group(nameMessage, `.*`, seen))
		case nameAny:
			s.WriteString(`.*`)
		case nameWord:
			s.WriteString(`\S+`)
		case nameNumber:
			s.WriteString(`[0-9]+`)
		default:
			s.WriteString(regexp.QuoteMeta(v.words[part.name]))
		}
	}
	return regexp.MustCompile(`^(?:` + s.String() + `)$`)
}

// group returns an expression as a group with a name. If seen already has the name, the group has no name, because a
// regular expression can use a name only once.
func group(name, expression string, seen map[string]bool) string {
	if seen[name] {
		return `(?:` + expression + `)`
	}
	seen[name] = true
	return `(?P<` + name + `>` + expression + `)`
}

// find returns the captured texts of each line that the pattern matches. An empty pattern has one empty match if text
// is blank, otherwise no match. find captures no id from a line without a newline, because that line may have been cut.
func (p pattern) find(text []byte, v values) []map[string]string {
	if p.empty {
		if strings.TrimSpace(string(text)) == "" {
			return []map[string]string{{}}
		}
		return nil
	}
	re := p.expression(v)
	var all []map[string]string
	id := re.SubexpIndex(nameBulkID) > 0 || re.SubexpIndex(nameJobID) > 0
	for line := range strings.Lines(string(text)) {
		m := re.FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
		if m == nil || id && !strings.HasSuffix(line, "\n") {
			continue
		}
		got := map[string]string{}
		for i, name := range re.SubexpNames() {
			if name != "" {
				got[name] = m[i]
			}
		}
		all = append(all, got)
	}
	return all
}

// lines yields the lines of a text without the blanks at their ends.
func lines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if !yield(strings.TrimRight(line, " \t\r\n")) {
				return
			}
		}
	}
}
