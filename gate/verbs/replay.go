package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Replay asks the type of a grid job anew, on behalf of its owner, and compares.
func Replay(find Resolve,
	do func(ctx context.Context, c gate.Caller, id jjm.GridID) (wire.Replayed, error)) gate.Verb {
	return onGrid(wire.VerbReplay(), find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, _ wire.ReplayRequest) (wire.ReplayAnswer, error) {
			r, err := do(ctx, c, id)
			return wire.ReplayAnswer{Replay: &r}, err
		})
}
