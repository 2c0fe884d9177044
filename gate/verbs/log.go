package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Log reads jjm's own log of a grid job.
func Log(find Resolve, do func(context.Context, gate.Caller, jjm.GridID) ([]string, error)) gate.Verb {
	return gate.Handle(wire.VerbLog(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.LogRequest) (wire.LogAnswer, error) {
			id, err := find.grid(ctx, c, "log", r.Refs)
			if err != nil {
				return wire.LogAnswer{}, err
			}
			lines, err := do(ctx, c, id)
			return wire.LogAnswer{Log: lines}, err
		})
}
