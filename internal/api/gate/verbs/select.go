package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
)

// Select makes the verb that returns the jobs that patterns and filters select. do is called with ids in place of
// handles.
func Select(find Resolve, do func(context.Context, gate.Caller, wire.SelectRequest) (wire.Selected, error)) gate.Verb {
	return gate.Handle(wire.VerbSelect(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.SelectRequest) (wire.SelectAnswer, error) {
			var err error
			if r.Refs, err = find.patterns(ctx, c, r.Refs); err != nil {
				return wire.SelectAnswer{}, err
			}
			selected, err := do(ctx, c, r)
			return wire.SelectAnswer{Select: &selected}, err
		})
}

// patterns replaces the handles among patterns by the ids of their grid jobs. The first handle that cannot be
// resolved is an error of the whole request.
func (find Resolve) patterns(ctx context.Context, c gate.Caller, refs []string) ([]string, error) {
	list, err := selection.Parse(refs)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if p := &list[i]; p.Handle != "" {
			if p.Ref.Grid, err = find(ctx, c, p.Handle); err != nil {
				return nil, err
			}
			p.Handle = ""
		}
	}
	return list.Words(), nil
}
