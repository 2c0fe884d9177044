package pbs

import (
	"context"
	"encoding/json"
	"time"

	"jjm"
	"jjm/adapters"
)

// hookTime is how long the site's hook may take: every submission waits for it.
const hookTime = 10 * time.Second

// askHook asks the site's hook about a bulk and gives the options that it adds.
// Nothing has been submitted when it fails: its refusal, any exit but 0, is
// Invalid, and trouble is Busy.
func (a *Adapter) askHook(ctx context.Context, b adapters.Bulk) ([]string, error) {
	if a.config.Hook == "" {
		return nil, nil
	}
	question, err := json.Marshal(struct {
		Cluster string      `json:"cluster"`
		Tag     jjm.Tag     `json:"tag"`
		Owner   jjm.Owner   `json:"owner"`
		N       int         `json:"n"`
		Request jjm.Request `json:"request"`
	}{a.name, b.Tag, b.Owner, b.N, b.Request})
	if err != nil {
		return nil, jjm.Errorf(jjm.Internal, "hook: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	cli := adapters.CLI{Env: a.config.Env} // the hook has a path of its own
	out, err := cli.Run(ctx, append(question, '\n'), a.config.Hook)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "hook: %w", err)
	}
	if out.Exit != 0 {
		return nil, jjm.Errorf(jjm.Invalid, "the site's hook %s refuses the bulk: exit %d: %s", a.config.Hook, out.Exit, complaint(out.Stderr))
	}
	args, err := directives(string(out.Stdout))
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "the site's hook %s: %w", a.config.Hook, err)
	}
	return args, nil
}
