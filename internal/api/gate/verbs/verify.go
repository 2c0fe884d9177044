package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Verify makes the verb that proves or refutes that the work of a grid job was done exactly once. If the request
// names a file and something is missing, do also makes the job file of a recovery. The error is a Conflict if the
// grid job is not over then.
func Verify(find Resolve,
	do func(ctx context.Context, c gate.Caller, id jjm.GridID, recovery string) (wire.Verified, error)) gate.Verb {
	return onGrid(wire.VerbVerify(), find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, r wire.VerifyRequest) (wire.VerifyAnswer, error) {
			v, err := do(ctx, c, id, r.Recovery)
			return wire.VerifyAnswer{Verify: &v}, err
		})
}
