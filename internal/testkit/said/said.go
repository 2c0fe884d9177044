// Package said checks, for tests, that the output of programs follows the rules for text that people read: no value in
// Go syntax, no double blank, no "1 jobs".
//
// Blanks that align the columns of a table are not double blanks. A gap of several blanks belongs to a column if
// another line of the text has a gap that ends at the same column. It also belongs to a column if it is the only gap of
// a line that is indented, like an entry of a list (a name, a gap, its meaning), or that begins with the result of a
// check (ok, FAIL). Indentation is not a gap. Lines of JSON and XML are for programs, so blanks and durations in such
// lines are not checked.
package said

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// rule describes a kind of text that must not occur in output for people.
type rule struct {
	what string
	text *regexp.Regexp
	// people is set if the text is allowed in lines for programs.
	people bool
}

// rules returns the rules. They are compiled for each call, because only tests use them.
func rules() []rule {
	words := func(what, text string) rule { return rule{what, regexp.MustCompile(text), false} }
	prose := func(what, text string) rule { return rule{what, regexp.MustCompile(text), true} }
	return []rule{
		words("a format without its value", `%!|\(MISSING\)|%[vdsqT]\b`),
		words("a value as Go has it", `<nil>|\bmap\[|&\{|\{\[|\b0x[0-9a-f]{7,}|\[\]string`),
		words("a struct as Go has it", `\{[A-Z]\w*:[^ ]* [A-Z]\w*:`),
		words("a list of texts as Go has it", `\["[^"]*" "`),
		words("no time at all", `\b0001-01-01`),
		words("an error of Go's libraries", `\bcontext (deadline exceeded|canceled)|\bstrconv\.|\bjson: (cannot|unknown|invalid)`),
		prose("a list as Go has it", `(^|[ :(])\[\](\s|$)|\bone of \[|[a-z]:? \[[a-z][a-z0-9.-]*( [a-z][a-z0-9.-]*)+\]`),
		prose("a duration as Go has it", `\b[0-9]+h[0-9]+m|\b[0-9]+m[0-9]+(\.[0-9]+)?s\b|\b[0-9]+\.[0-9]{3,}m?s\b|[0-9]µs`),
	}
}

// Wrong returns the mistakes in the output of a program, one text for each line with a mistake.
func Wrong(text string) (all []string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	known := rules()
	for i, line := range lines {
		programs := forPrograms(line)
		for _, r := range known {
			if found := r.text.FindString(line); found != "" && !(r.people && programs) {
				all = append(all, fmt.Sprintf("%s: %q in %q", r.what, strings.TrimSpace(found), line))
			}
		}
		if programs {
			continue
		}
		if found := oneOfMany(line); found != "" {
			all = append(all, fmt.Sprintf("one of several: %q in %q", found, line))
		}
		for _, at := range strayGaps(lines, i) {
			all = append(all, fmt.Sprintf("doubled blanks before column %d of %q", at+1, line))
		}
		if line != strings.TrimRight(line, " ") {
			all = append(all, fmt.Sprintf("blanks at the end of %q", line))
		}
	}
	return all
}

// oneOfMany returns the part of a line with a 1 before a plural, such as "1 jobs", unless the 1 is part of a number or
// an id, or is the number of a job. It returns "" if there is no such part.
func oneOfMany(line string) string {
	plural := regexp.MustCompile(`(\S+ )?\b1 ((local|grid|batch|new) )?(jobs|files|events|checks|problems|bytes|` +
		`seconds|minutes|hours|parts|records|rows|attempts|failures|retries|times|merges|datasets|entries|processes|` +
		`commands|lines|sections|units|copies|results|warnings)\b`)
	for _, at := range plural.FindAllStringIndex(line, -1) {
		found := line[at[0]:at[1]]
		before, _, _ := strings.Cut(found, " ")
		switch before {
		case "job", "part", "attempt", "step", "shard":
			continue
		}
		one := at[0] + strings.Index(found, "1 ")
		if one == 0 || strings.ContainsRune(" (", rune(line[one-1])) {
			return strings.TrimSpace(found)
		}
	}
	return ""
}

// forPrograms reports whether a line is JSON, XML, or a ClassAd.
func forPrograms(line string) bool {
	s := strings.TrimSpace(line)
	return strings.HasPrefix(s, "{") || strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "<") ||
		strings.HasPrefix(s, "}") || strings.HasPrefix(s, "]")
}

// strayGaps returns the columns at which the gaps of line i end that do not belong to a table.
func strayGaps(lines []string, i int) (stray []int) {
	own := gaps(lines[i])
	if word, _, _ := strings.Cut(lines[i], " "); len(own) == 1 && (word == "" || word == "ok" || word == "FAIL") {
		return nil
	}
	aligned := map[int]bool{}
	for j, line := range lines {
		if j == i {
			continue
		}
		for _, at := range gaps(line) {
			aligned[at] = true
		}
	}
	for _, at := range own {
		if !aligned[at] {
			stray = append(stray, at)
		}
	}
	return stray
}

// gaps returns the columns at which runs of two or more blanks end, except the indentation.
func gaps(line string) (ends []int) {
	column, blanks, begun := 0, 0, false
	for len(line) > 0 {
		r, n := utf8.DecodeRuneInString(line)
		line = line[n:]
		if r == ' ' {
			blanks++
		} else {
			if blanks > 1 && begun {
				ends = append(ends, column)
			}
			blanks, begun = 0, true
		}
		column++
	}
	return ends
}
