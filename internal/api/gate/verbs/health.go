package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
)

// Health makes the verb that shows whether the site is well. do must show other accounts' ids only to administrators.
func Health(do func(context.Context, gate.Caller) *wire.Health) gate.Verb {
	return gate.Handle(wire.VerbHealth(), gate.Anyone,
		func(ctx context.Context, c gate.Caller, _ wire.HealthRequest) (wire.HealthAnswer, error) {
			return wire.HealthAnswer{Health: do(ctx, c)}, nil
		})
}
