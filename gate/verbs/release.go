package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Release ends holds. do answers for each reference, in order.
func Release(find Resolve, do func(context.Context, gate.Caller, []jjm.Ref) []wire.Released) gate.Verb {
	return gate.Handle(wire.VerbRelease(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.ReleaseRequest) (wire.ReleaseAnswer, error) {
			refs, err := find.refs(ctx, c, "release", r.Refs, false)
			if err != nil {
				return wire.ReleaseAnswer{}, err
			}
			released := do(ctx, c, refs)
			return wire.ReleaseAnswer{Release: released}, counted("release", len(released), len(refs))
		})
}
