package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
)

// Ban makes the verb for bans. do sets or ends a ban; with nil it lists the bans in force.
func Ban(do func(context.Context, gate.Caller, *wire.Ban) (wire.Banned, error)) gate.Verb {
	return gate.Handle(wire.VerbBan(), gate.Administrators,
		func(ctx context.Context, c gate.Caller, r wire.BanRequest) (wire.BanAnswer, error) {
			banned, err := do(ctx, c, r.Ban)
			return wire.BanAnswer{Banned: &banned}, err
		})
}
