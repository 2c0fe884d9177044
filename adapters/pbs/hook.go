package pbs

import (
	"context"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// askHook calls the site's hook for a bulk and returns the options that the hook adds. It returns an error of kind
// Invalid if an option is not allowed.
func (a *Adapter) askHook(ctx context.Context, b adapters.Bulk) ([]string, error) {
	lines, err := a.config.Hook.Ask(ctx, a.name, b)
	if err != nil {
		return nil, err
	}
	args, err := directives(strings.Join(lines, "\n"))
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "the site's hook %s: %w", a.config.Hook, err)
	}
	return args, nil
}
