package sge

import (
	"context"
	"encoding/json"
	"fmt"
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

// askHook gives the options that the site's hook adds to a bulk. Nothing was
// submitted when it fails: a refusal is Invalid, trouble Busy.
func (a *Adapter) askHook(ctx context.Context, b adapters.Bulk) ([]string, error) {
	if a.cfg.Hook == "" {
		return nil, nil
	}
	line, err := json.Marshal(hookInput{a.name, b.Tag, b.Owner, b.N, b.Request})
	if err != nil {
		return nil, jjm.Errorf(jjm.Internal, "hook: %w", err)
	}
	out, err := run.Run(ctx, run.Cmd{
		Argv: []string{a.cfg.Hook}, Env: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"},
		Stdin: append(line, '\n'), Deadline: hookDeadline,
	})
	switch {
	case err != nil:
		return nil, jjm.Errorf(jjm.Busy, "hook %s: %w", a.cfg.Hook, err)
	case out.Exit != 0:
		return nil, jjm.Errorf(jjm.Invalid, "hook %s refuses the bulk: exit %d: %s", a.cfg.Hook, out.Exit, brief(out.Stderr))
	}
	opts, err := words(lines(string(out.Stdout)))
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "hook %s: %w", a.cfg.Hook, err)
	}
	return opts, nil
}

// brief makes one short line of what a command printed.
func brief(outputs ...[]byte) string {
	var text []byte
	for _, out := range outputs {
		for _, c := range out {
			if c == '\n' || c == '\t' {
				c = ' '
			}
			text = append(text, c)
		}
	}
	if len(text) > 400 {
		text = append(text[:400], "..."...)
	}
	return fmt.Sprintf("%q", text)
}
