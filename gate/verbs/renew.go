package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Renew gives the jobs of a grid job newer credentials. do returns of which kinds they
// were newer, and which jobs they do not reach.
func Renew(find Resolve,
	do func(context.Context, gate.Caller, jjm.GridID, []jjm.Credential) (wire.Renewal, error)) gate.Verb {
	return onGrid(wire.VerbRenew(), find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, r wire.RenewRequest) (wire.RenewAnswer, error) {
			renewal, err := do(ctx, c, id, r.Credentials)
			return wire.RenewAnswer{Renewed: renewal.Kinds, NotReached: renewal.NotReached}, err
		})
}
