package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Release makes the verb that releases held jobs. do returns an answer for each reference,
// in order.
func Release(find Resolve,
	do func(ctx context.Context, c gate.Caller, refs []jjm.Ref, dry bool) []wire.Released) gate.Verb {
	return gate.Handle(wire.VerbRelease(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.ReleaseRequest) (wire.ReleaseAnswer, error) {
			refs, err := find.refs(ctx, c, "release", r.Refs, false)
			if err != nil {
				return wire.ReleaseAnswer{}, err
			}
			released := do(ctx, c, refs, r.DryRun)
			return wire.ReleaseAnswer{Release: released}, checkCount("release", len(released), len(refs))
		})
}
