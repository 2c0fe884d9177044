package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Renew gives the jobs of a grid job newer credentials. do tells of which kinds they were newer, and which jobs they do
// not reach.
func Renew(find Resolve,
	do func(context.Context, gate.Caller, jjm.GridID, []jjm.Credential) (wire.Renewal, error)) gate.Verb {
	return gate.Handle(wire.VerbRenew(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.RenewRequest) (wire.RenewAnswer, error) {
			id, err := find.grid(ctx, c, "renew", r.Refs)
			if err != nil {
				return wire.RenewAnswer{}, err
			}
			renewal, err := do(ctx, c, id, r.Credentials)
			return wire.RenewAnswer{Renewed: renewal.Kinds, NotReached: renewal.NotReached}, err
		})
}
