package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Retract makes the verb that declares outputs of a grid job lost, so that they are made
// again. The error of do is Gone if an output does not exist, and a Conflict if the local
// job that made it has not completed or cannot be done again.
func Retract(find Resolve,
	do func(context.Context, gate.Caller, jjm.GridID, wire.Retract) (wire.Retracted, error)) gate.Verb {
	return onGrid(wire.VerbRetract(), find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, r wire.RetractRequest) (wire.RetractAnswer, error) {
			retracted, err := do(ctx, c, id, *r.Retract)
			return wire.RetractAnswer{Retracted: &retracted}, err
		})
}
