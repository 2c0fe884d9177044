package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Why makes the verb that shows what unfinished jobs wait for. do returns an answer for each reference, in order. The
// error of a single reference is in its answer.
func Why(find Resolve, do func(context.Context, gate.Caller, []jjm.Ref) ([]wire.Why, error)) gate.Verb {
	return gate.Handle(wire.VerbWhy(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.WhyRequest) (wire.WhyAnswer, error) {
			refs, err := find.refs(ctx, c, "why", r.Refs, false)
			if err != nil {
				return wire.WhyAnswer{}, err
			}
			all, err := do(ctx, c, refs)
			return wire.WhyAnswer{Why: all}, err
		})
}
