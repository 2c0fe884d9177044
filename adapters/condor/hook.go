package condor

import (
	"context"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// askHook returns the lines of a submit description that the site's hook adds. It returns an error of kind Invalid if a
// line is not allowed in Config.Directives.
func (a *Adapter) askHook(ctx context.Context, b adapters.Bulk) ([]string, error) {
	lines, err := a.config.Hook.Ask(ctx, a.name, b)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		if problem := directiveProblem(l); problem != "" {
			return nil, jjm.Errorf(jjm.Invalid, "the site's hook %s printed %.80q: %s", a.config.Hook, l, problem)
		}
	}
	return lines, nil
}
