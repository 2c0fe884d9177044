package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
)

// Submit makes the verb that accepts a grid job, or with DryRun explains what would be
// done. do returns once the job is stored.
func Submit(do func(context.Context, gate.Caller, wire.Submit) (wire.Submitted, error)) gate.Verb {
	return gate.Handle(wire.VerbSubmit(), gate.Anyone,
		func(ctx context.Context, c gate.Caller, r wire.SubmitRequest) (wire.SubmitAnswer, error) {
			s, err := do(ctx, c, *r.Submit)
			return wire.SubmitAnswer{Submit: &s}, err
		})
}
