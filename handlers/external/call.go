package external

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"jjm/handlers"
	"jjm/internal/jjm"
)

// Caller runs a program. It returns an error if the program did not run to its end.
type Caller func(handlers.Program) (handlers.Ran, error)

// ask sends a request to a program and parses its reply into the value that into points to. Every problem names the
// program. A problem has Busy set if the error of call is of kind Busy.
func (t *Type) ask(call Caller, req request, limit time.Duration, into any) jjm.Problems {
	bad := func(format string, args ...any) jjm.Problems {
		return jjm.Problems{{Field: "type", Text: t.whenAsked(req.Verb) + fmt.Sprintf(format, args...)}}
	}
	if call == nil {
		return bad("no program can be run here")
	}
	req.Protocol, req.Type = Protocol, t.name
	text, err := json.Marshal(req)
	if err != nil {
		return bad("%v", err)
	}
	ran, err := call(handlers.Program{Path: t.path, Stdin: append(text, '\n'), Limit: limit, MaxOutput: maxReply})
	switch {
	case jjm.KindOf(err) == jjm.Denied: // it was not run
		return bad("%v", err)
	case err != nil:
		problems := bad("%v%s", err, errorOutput(ran.Stderr))
		problems[0].Busy = jjm.KindOf(err) == jjm.Busy
		return problems
	case ran.Truncated: // jjm ended the program for this reason
		return bad("it writes more than %d MiB: make the reply shorter", maxReply>>20)
	case ran.Exit != 0:
		return bad("it ended with exit code %d%s", ran.Exit, errorOutput(ran.Stderr))
	}
	problems := alike(decode(ran.Stdout, into))
	for i := range problems {
		problems[i] = bad("%v", problems[i])[0]
	}
	return problems
}

// whenAsked returns the first words of a problem's text: the program's path, and the verb of the request.
func (t *Type) whenAsked(verb string) string {
	return fmt.Sprintf("the program %s, asked to %s: ", t.path, verb)
}

// place matches the index of a value in a list.
var place = regexp.MustCompile(`\[[0-9]+\]`)

// alike shortens a list of problems. Of the problems that differ only by indices in lists, it keeps the first and adds
// the number of the others to its text.
func alike(problems jjm.Problems) (out jjm.Problems) {
	first, more := map[jjm.Problem]int{}, map[int]int{}
	for _, p := range problems {
		kind := jjm.Problem{Field: place.ReplaceAllString(p.Field, "[]"), Text: p.Text}
		if at, seen := first[kind]; seen {
			more[at]++
			continue
		}
		first[kind] = len(out)
		out = append(out, p)
	}
	for at, n := range more {
		out[at].Text += " (and at " + jjm.Count(n, "more place") + ")"
	}
	return out
}

// errorOutput returns the end of a program's standard error, in a form that can follow another text.
func errorOutput(stderr []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(stderr), "?"))
	if text == "" {
		return ", and says nothing on its standard error"
	}
	if len(text) > maxStderr {
		text = "..." + strings.ToValidUTF8(text[len(text)-maxStderr:], "")
	}
	return ": " + text
}
