package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Replay makes the verb that runs the type of a grid job again, on behalf of its owner, and
// compares the answers.
func Replay(find Resolve,
	do func(ctx context.Context, c gate.Caller, id jjm.GridID) (wire.Replayed, error)) gate.Verb {
	return onGrid(wire.VerbReplay(), find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, _ wire.ReplayRequest) (wire.ReplayAnswer, error) {
			r, err := do(ctx, c, id)
			return wire.ReplayAnswer{Replay: &r}, err
		})
}
