package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"jjm/adapters/conformance"
	"jjm/internal/app"
	"jjm/internal/jjm"
)

// testReport prints the outcomes of the checks of a cluster as they become known, and counts them.
type testReport struct {
	out   io.Writer
	json  bool
	began time.Time
	sums  struct {
		Cluster       string `json:"cluster"`
		Passed        int    `json:"passed"`
		Failed        int    `json:"failed"`
		NotApplicable int    `json:"not_applicable"`
		NotTried      int    `json:"not_tried,omitempty"`
		WhyNot        string `json:"why_not_tried,omitempty"`
		TookMS        int64  `json:"took_ms"`
	}
	err error // the first error of writing to out
}

func (r *testReport) printf(format string, args ...any) {
	if _, err := io.WriteString(r.out, printable(fmt.Sprintf(format, args...))); r.err == nil {
		r.err = err
	}
}

func (r *testReport) object(v any) {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	if r.err == nil {
		r.err = err
	}
}

func (r *testReport) begin(t *app.ClusterTest) {
	if r.json {
		return
	}
	r.printf("Testing cluster %s (%s) as %s, with jobs in %s; each may take %s.\n",
		t.Cluster, t.Kind, t.Owner.User, t.Dir, jjm.HowLong(t.Patience))
	for _, note := range t.Notes {
		r.printf("%s\n", note)
	}
}

// outcome counts and prints the outcome of one check: its name and, if it failed or does not apply, the reason and the
// remedy.
func (r *testReport) outcome(o conformance.Outcome) {
	switch {
	case len(o.Failures) > 0:
		r.sums.Failed++
	case o.NotTried != "":
		r.sums.NotTried++
	case o.Skipped != "":
		r.sums.NotApplicable++
	default:
		r.sums.Passed++
	}
	if r.json {
		r.object(struct {
			Check    string   `json:"check"`
			Result   string   `json:"result"`
			TookMS   int64    `json:"took_ms"`
			Failures []string `json:"failures,omitempty"`
			Remedy   string   `json:"remedy,omitempty"`
			Why      string   `json:"why,omitempty"`
			Notes    []string `json:"notes,omitempty"`
		}{o.Check.Name, strings.ToLower(o.Word()), o.Took.Milliseconds(), o.Failures, o.Remedy,
			cmp.Or(o.Skipped, o.NotTried), o.Notes})
		return
	}
	r.printf("%s: %s (%s)\n", o.Word(), o.Check.Name, jjm.HowLong(o.Took))
	for _, line := range details(o) {
		r.printf("%s%s\n", indent, line)
	}
}

// The greatest numbers of lines and columns of the details that are printed below the line of a check.
const (
	mostDetails = 19
	indent      = "    "
	columns     = 120 - len(indent)
)

// details returns the lines below the line of a check: the reason why it failed or does not apply, further notes, and
// the remedy. Equal texts appear only once. If there are more than mostDetails lines, the last of them counts the
// others.
func details(o conformance.Outcome) []string {
	texts := slices.Concat(folded(o.Failures), folded(o.Notes))
	if why := cmp.Or(o.Skipped, o.NotTried); why != "" && len(o.Failures) == 0 {
		texts = []string{why}
	}
	var lines, last []string
	for _, text := range texts {
		lines = append(lines, wrapped(text)...)
	}
	if o.Remedy != "" {
		last = wrapped("remedy: " + o.Remedy)
	}
	if room := mostDetails - len(last); len(lines) > room {
		left := len(lines) - room + 1
		lines = append(lines[:room-1], fmt.Sprintf("and %d more lines: --json has all", left))
	}
	return append(lines, last...)
}

// tags matches the tags of bulks in a text. Two texts count as equal if they differ only in such tags.
var tags = regexp.MustCompile(`\bj[a-z0-9]{14}\b`)

// folded returns the texts without repetitions. A text that occurs several times gets the number of its occurrences.
func folded(texts []string) (out []string) {
	times := map[string]int{}
	for _, text := range texts {
		times[tags.ReplaceAllString(text, "")]++
	}
	for _, text := range texts {
		key := tags.ReplaceAllString(text, "")
		n := times[key]
		delete(times, key)
		switch {
		case n == 1:
			out = append(out, text)
		case n > 1:
			out = append(out, fmt.Sprintf("%s (%d times)", text, n))
		}
	}
	return out
}

// wrapped breaks a text into lines between words. A word that is longer than a line is split.
func wrapped(text string) (lines []string) {
	for paragraph := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			for len(word) > columns {
				word, lines = word[columns:], append(lines, word[:columns])
			}
			switch {
			case line == "":
				line = word
			case len(line)+1+len(word) <= columns:
				line += " " + word
			default:
				line, lines = word, append(lines, line)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *testReport) end(t *app.ClusterTest) {
	r.sums.Cluster, r.sums.TookMS = t.Cluster, time.Since(r.began).Milliseconds()
	r.sums.NotTried, r.sums.WhyNot = r.sums.NotTried+t.NotTried, t.Why
	if r.json {
		r.object(r.sums)
		return
	}
	if t.NotTried > 0 {
		r.printf("%s: %s not tried.\n", strings.ToUpper(t.Why[:1])+t.Why[1:], jjm.Count(t.NotTried, "check"))
	}
	untried := ""
	if r.sums.NotTried > 0 {
		untried = fmt.Sprintf("%d not tried, ", r.sums.NotTried)
	}
	r.printf("%s passed, %d failed, %s%d not applicable, in %s.\n", jjm.Count(r.sums.Passed, "check"), r.sums.Failed,
		untried, r.sums.NotApplicable, jjm.HowLong(time.Since(r.began)))
}

// printable replaces characters that could control a terminal, because batch systems and jobs wrote
// parts of the text.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || unicode.IsPrint(c) {
			return c
		}
		return '?'
	}, text)
}
