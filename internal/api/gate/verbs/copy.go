package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Copy makes the verb that makes a new grid job from what an old one asked for. do returns once the new grid job is
// stored.
func Copy(find Resolve,
	do func(context.Context, gate.Caller, jjm.GridID, wire.CopyHow) (wire.Copied, error)) gate.Verb {
	return onGrid(wire.VerbCopy(), find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, r wire.CopyRequest) (wire.CopyAnswer, error) {
			made, err := do(ctx, c, id, r.CopyHow)
			return wire.CopyAnswer{Copied: &made}, err
		})
}
