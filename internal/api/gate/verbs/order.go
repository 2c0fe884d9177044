package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Order makes the verb for orders. do stores an order and returns what it changed; with nil
// it returns the orders in force that the caller may see. do must also decide who may give
// which order: the owner of a grid job may pause it, and all other orders are for
// administrators.
func Order(find Resolve, do func(context.Context, gate.Caller, *wire.Order) ([]jjm.Order, error)) gate.Verb {
	return gate.Handle(wire.VerbOrder(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.OrderRequest) (wire.OrderAnswer, error) {
			if r.Order != nil && r.Order.Kind == jjm.OrderJob {
				id, err := find.grid(ctx, c, "order", r.Order.Name)
				if err != nil {
					return wire.OrderAnswer{}, err
				}
				r.Order.Name = id.String()
			}
			orders, err := do(ctx, c, r.Order)
			return wire.OrderAnswer{Orders: orders}, err
		})
}
