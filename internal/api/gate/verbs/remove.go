package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Remove makes the verb that removes grid jobs. do returns an answer for each.
func Remove(find Resolve,
	do func(ctx context.Context, c gate.Caller, refs []jjm.Ref, force, dry bool) []wire.Removed) gate.Verb {
	return gate.Handle(wire.VerbRemove(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.RemoveRequest) (wire.RemoveAnswer, error) {
			refs, err := find.refs(ctx, c, "remove", r.Refs, true)
			if err != nil {
				return wire.RemoveAnswer{}, err
			}
			return wire.RemoveAnswer{Remove: do(ctx, c, refs, r.Force, r.DryRun)}, nil
		})
}
