package external

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"jjm"
	"jjm/handlers"
)

// Caller runs a program. An error says that it did not run to its end.
type Caller func(handlers.Program) (handlers.Ran, error)

// ask asks a program, and reads its reply. Every problem tells which program it is about.
func (t *Type) ask(call Caller, req request, limit time.Duration, into any) jjm.Problems {
	bad := func(format string, args ...any) jjm.Problems {
		return jjm.Problems{{Field: "type", Text: fmt.Sprintf("%s of %s: ", req.Verb, t.path) + fmt.Sprintf(format, args...)}}
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
	case err != nil:
		return bad("%v%s", err, said(ran.Stderr))
	case ran.Truncated: // it was ended for that
		return bad("it writes more than %d MiB: make the reply shorter", maxReply>>20)
	case ran.Exit != 0:
		return bad("it ended with exit code %d%s", ran.Exit, said(ran.Stderr))
	}
	problems := decode(ran.Stdout, into)
	for i := range problems {
		problems[i] = bad("%s: %s", problems[i].Field, problems[i].Text)[0]
	}
	return problems
}

// said is the end of what a program wrote to its standard error.
func said(stderr []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(stderr), "?"))
	if text == "" {
		return ", and says nothing on its standard error"
	}
	if len(text) > maxStderr {
		text = "..." + strings.ToValidUTF8(text[len(text)-maxStderr:], "")
	}
	return ": " + text
}
