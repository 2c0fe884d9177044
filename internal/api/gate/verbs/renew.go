package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Renew makes the verb that replaces the credentials of a grid job's jobs by newer credentials. do
// returns the kinds that were newer and notes on the jobs that keep their old credentials.
func Renew(find Resolve,
	do func(context.Context, gate.Caller, jjm.GridID, []jjm.Credential) (wire.Renewal, error)) gate.Verb {
	return onGrid(wire.VerbRenew(), find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, r wire.RenewRequest) (wire.RenewAnswer, error) {
			renewal, err := do(ctx, c, id, r.Credentials)
			return wire.RenewAnswer{Renewed: renewal.Kinds, NotReached: renewal.NotReached}, err
		})
}
