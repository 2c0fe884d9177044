package command

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// word names the meaning of an outcome.
type word string

// These are the words that an outcome may have. In verbs other than submit "ambiguous" means the same as "busy",
// because such verbs can be repeated.
const (
	wordOK        word = "ok"
	wordInvalid   word = "invalid"
	wordBusy      word = "busy"
	wordAmbiguous word = "ambiguous"
	wordDenied    word = "denied"
	wordGone      word = "gone"
	// wordNone is the successful answer to a query that found no jobs.
	wordNone word = "none"
	// wordTooMany means that a submission was rejected because of the number of jobs: a smaller bulk may be accepted.
	wordTooMany word = "too-many"
)

// words returns the words that a verb may use.
func words(verb string) []string {
	all := []string{string(wordOK), string(wordInvalid), string(wordBusy), string(wordAmbiguous), string(wordDenied),
		string(wordGone)}
	switch verb {
	case "submit":
		all = append(all, string(wordTooMany))
	case "list", "find", "account":
		all = append(all, string(wordNone))
	}
	return all
}

// kind returns the kind of error for a word.
func (w word) kind() jjm.Kind {
	switch w {
	case wordInvalid:
		return jjm.Invalid
	case wordAmbiguous:
		return jjm.Ambiguous
	case wordDenied:
		return jjm.Denied
	case wordGone:
		return jjm.Gone
	}
	return jjm.Busy
}

// outcome is one way in which a command may end. It matches if all its conditions hold.
type outcome struct {
	word                   word
	exit                   exits
	stdout, stderr, output *pattern
}

// perJob reports whether the outcome is about single jobs, not about the whole command.
func (o outcome) perJob() bool {
	for _, p := range []*pattern{o.stdout, o.stderr, o.output} {
		if p != nil && p.perJob {
			return true
		}
	}
	return false
}

// find returns the texts that the outcome's patterns captured, one element for each matching line. It returns one empty
// element for an outcome without patterns, and nil if the outcome does not match.
func (o outcome) find(out run.Output, v values) []map[string]string {
	// A command that a signal ended may not have printed everything.
	if out.Signal != 0 || !o.exit.has(out.Exit) {
		return nil
	}
	all := []map[string]string{{}}
	for _, c := range []struct {
		pattern *pattern
		texts   [][]byte
	}{
		{o.stdout, [][]byte{out.Stdout}},
		{o.stderr, [][]byte{out.Stderr}},
		{o.output, [][]byte{out.Stdout, out.Stderr}},
	} {
		if c.pattern == nil {
			continue
		}
		var got []map[string]string
		for _, text := range c.texts {
			got = append(got, c.pattern.find(text, v)...)
		}
		if all = combine(all, got); len(all) == 0 {
			return nil
		}
	}
	return all
}

// combine joins the captured texts of two patterns: each element of a with each element of b. If both elements have the
// same name, the text in a counts. The result is nil if b has no element.
func combine(a, b []map[string]string) []map[string]string {
	if len(b) == 0 {
		return nil
	}
	if len(a) == 1 && len(a[0]) == 0 {
		return b
	}
	var all []map[string]string
	for _, x := range a {
		for _, y := range b {
			both := maps.Clone(y)
			maps.Copy(both, x)
			all = append(all, both)
		}
	}
	return all
}

// verdict is the outcome of a whole command, or the outcome for one job.
type verdict struct {
	word word
	// id is the id that an outcome captured; message is the captured text for people.
	id, message string
}

// outcomes are tried in order; the first match counts.
type outcomes []outcome

// judge returns the first outcome that matches the whole command. It returns an error if no outcome matches, or if
// different lines capture different ids.
func (os outcomes) judge(out run.Output, v values) (verdict, error) {
	for _, o := range os {
		if o.perJob() {
			continue
		}
		all := o.find(out, v)
		if len(all) == 0 {
			continue
		}
		got := verdict{word: o.word, id: all[0][nameBulkID], message: all[0][nameMessage]}
		for _, other := range all[1:] {
			if other[nameBulkID] != got.id {
				return verdict{}, fmt.Errorf("two ids in one answer, %q and %q", got.id, other[nameBulkID])
			}
		}
		return got, nil
	}
	return verdict{}, fmt.Errorf("no outcome of the description explains this")
}

// jobs returns the verdicts of the lines about single jobs, by job id.
func (os outcomes) jobs(out run.Output, v values) map[string]verdict {
	all := map[string]verdict{}
	for _, o := range os {
		if !o.perJob() {
			continue
		}
		for _, got := range o.find(out, v) {
			id := got[nameJobID]
			if _, known := all[id]; !known {
				all[id] = verdict{word: o.word, message: got[nameMessage]}
			}
		}
	}
	return all
}

// failure returns a text about a failed command: what the command was for, its exit code, the cause, and the last line
// of its error output or, if that is empty, of its output.
func failure(what string, out run.Output, because string) string {
	said := cmp.Or(lastLine(out.Stderr), lastLine(out.Stdout), "it printed nothing")
	text := fmt.Sprintf("%s: exit %d", what, out.Exit)
	if out.Signal != 0 {
		text = fmt.Sprintf("%s: ended by signal %d", what, out.Signal)
	}
	for _, more := range []string{because, said} {
		if more != "" && !strings.Contains(text, more) {
			text += ": " + more
		}
	}
	return text
}

func lastLine(text []byte) string {
	last := ""
	for line := range lines(string(text)) {
		if line != "" {
			last = line
		}
	}
	if r := []rune(strings.ToValidUTF8(last, "?")); len(r) > 300 {
		last = string(r[:300]) + "..."
	}
	return last
}

// exits is a set of exit codes: "0", "nonzero", "any", "1,3,128-255".
type exits struct{ ranges [][2]int }

func (e exits) has(code int) bool {
	for _, r := range e.ranges {
		if code >= r[0] && code <= r[1] {
			return true
		}
	}
	return false
}

// all reports whether the set contains every exit code.
func (e exits) all() bool {
	for code := range 256 {
		if !e.has(code) {
			return false
		}
	}
	return true
}

func parseExits(text string) (exits, error) {
	switch text {
	case "any":
		return exits{[][2]int{{0, 255}}}, nil
	case "nonzero":
		return exits{[][2]int{{1, 255}}}, nil
	}
	var e exits
	for item := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(strings.TrimSpace(item), "-")
		if !ranged {
			high = low
		}
		a, err1 := strconv.ParseUint(low, 10, 8)
		b, err2 := strconv.ParseUint(high, 10, 8)
		if err1 != nil || err2 != nil || b < a {
			return exits{}, fmt.Errorf(`%.40q: want exit codes such as "0", "1,3", "128-255", or "any" or "nonzero"`, text)
		}
		e.ranges = append(e.ranges, [2]int{int(a), int(b)})
	}
	return e, nil
}
