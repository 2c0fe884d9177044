package command

import (
	"context"
	"encoding/json"
	"time"

	"jjm"
	"jjm/adapters"
)

// hookTime is how long the site's program may take: submissions wait for it.
const hookTime = 10 * time.Second

// asked is what the hook is told, as one line of JSON.
type asked struct {
	Cluster string      `json:"cluster"`
	Tag     jjm.Tag     `json:"tag"`
	Owner   jjm.Owner   `json:"owner"`
	N       int         `json:"n"`
	Request jjm.Request `json:"request"`
}

// hook asks the site's program, which prints directives, one a line. If it
// exits with another code than 0 the bulk is refused in its words; if it does
// not answer, nothing was submitted.
func (a *Adapter) hook(ctx context.Context, b adapters.Bulk) ([]string, error) {
	line, err := json.Marshal(asked{a.name, b.Tag, b.Owner, b.N, a.config.defaults(b.Request)})
	if err != nil {
		return nil, jjm.Errorf(jjm.Internal, "hook %s: %w", a.config.Hook, err)
	}
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	out, err := a.run(ctx, append(line, '\n'), []string{a.config.Hook})
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "hook: %w", err)
	}
	if out.Exit != 0 {
		return nil, jjm.Errorf(jjm.Invalid, "%s", failure("hook "+a.config.Hook, out, "it refuses the jobs"))
	}
	return splitDirectives(string(out.Stdout)), nil
}
