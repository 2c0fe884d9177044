package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Order returns orders. do stores one and returns what it changed; nil lists the orders in force.
func Order(do func(context.Context, gate.Caller, *wire.Order) ([]jjm.Order, error)) gate.Verb {
	return gate.Handle(wire.VerbOrder(), gate.AnyoneReads,
		func(ctx context.Context, c gate.Caller, r wire.OrderRequest) (wire.OrderAnswer, error) {
			orders, err := do(ctx, c, r.Order)
			return wire.OrderAnswer{Orders: orders}, err
		})
}
