package condor

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// hookDeadline bounds the site's hook: a submission waits for it.
const hookDeadline = 10 * time.Second

// hookInput is the line that the site's hook reads.
type hookInput struct {
	Cluster string      `json:"cluster"`
	Tag     jjm.Tag     `json:"tag"`
	Owner   jjm.Owner   `json:"owner"`
	N       int         `json:"n"`
	Request jjm.Request `json:"request"`
}

// askHook runs the site's hook, which reads one line of JSON and prints lines
// of a submit description, as Config.Directives has them. Nothing has been
// submitted when it fails: its refusal, any exit but 0, is of kind Invalid;
// trouble is Busy.
func (a *Adapter) askHook(ctx context.Context, b adapters.Bulk) ([]string, error) {
	if a.config.Hook == "" {
		return nil, nil
	}
	line, err := json.Marshal(hookInput{a.name, b.Tag, b.Owner, b.N, b.Request})
	if err != nil {
		return nil, jjm.Errorf(jjm.Internal, "hook: %w", err)
	}
	out, err := run.Run(ctx, run.Cmd{
		Argv: []string{a.config.Hook}, Env: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"},
		Stdin: append(line, '\n'), Deadline: hookDeadline,
	})
	switch {
	case err != nil:
		return nil, jjm.Errorf(jjm.Busy, "hook %s: %w", a.config.Hook, err)
	case out.Exit != 0:
		return nil, jjm.Errorf(jjm.Invalid, "the site's hook %s refuses the bulk: exit %d: %s",
			a.config.Hook, out.Exit, complaints(out.Stderr))
	}
	lines := directiveLines(string(out.Stdout))
	for _, l := range lines {
		if problem := oddDirective(l); problem != "" {
			return nil, jjm.Errorf(jjm.Invalid, "the site's hook %s printed %.80q: %s", a.config.Hook, l, problem)
		}
	}
	return lines, nil
}
