package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Resubmit makes the verb that runs local jobs again. do returns an answer for each grid job.
func Resubmit(find Resolve,
	do func(context.Context, gate.Caller, []jjm.Ref, wire.ResubmitHow) []wire.Resubmitted) gate.Verb {
	return gate.Handle(wire.VerbResubmit(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.ResubmitRequest) (wire.ResubmitAnswer, error) {
			refs, err := find.refs(ctx, c, "resubmit", r.Refs, false)
			if err != nil {
				return wire.ResubmitAnswer{}, err
			}
			return wire.ResubmitAnswer{Resubmit: do(ctx, c, refs, r.ResubmitHow)}, nil
		})
}
