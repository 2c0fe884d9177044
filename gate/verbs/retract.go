package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Retract says of outputs of a grid job that they are lost, so that they are made again. It is Gone if there is no such
// output, and a Conflict if what made them has not completed, or cannot be done again as it stands.
func Retract(find Resolve,
	do func(context.Context, gate.Caller, jjm.GridID, wire.Retract) (wire.Retracted, error)) gate.Verb {
	return onGrid(wire.VerbRetract(), find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, r wire.RetractRequest) (wire.RetractAnswer, error) {
			retracted, err := do(ctx, c, id, *r.Retract)
			return wire.RetractAnswer{Retracted: &retracted}, err
		})
}
