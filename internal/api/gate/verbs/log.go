package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Log makes the verb that reads jjm's own log of a grid job.
func Log(find Resolve, do func(context.Context, gate.Caller, jjm.GridID) ([]string, error)) gate.Verb {
	return onGrid(wire.VerbLog(), find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, _ wire.LogRequest) (wire.LogAnswer, error) {
			lines, err := do(ctx, c, id)
			return wire.LogAnswer{Log: lines}, err
		})
}
