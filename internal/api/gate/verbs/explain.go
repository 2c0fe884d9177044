package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Explain makes the verb that shows by which rule an attempt of one local job was judged. attempt is its number; nil
// means the last attempt that ended.
func Explain(find Resolve,
	do func(ctx context.Context, c gate.Caller, ref jjm.Ref, attempt *int32) (wire.Explained, error)) gate.Verb {
	return gate.Handle(wire.VerbExplain(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.ExplainRequest) (wire.ExplainAnswer, error) {
			refs, err := find.refs(ctx, c, "explain", r.Refs, false)
			if err != nil {
				return wire.ExplainAnswer{}, err
			}
			e, err := do(ctx, c, refs[0], r.Attempt)
			return wire.ExplainAnswer{Explain: &e}, err
		})
}
