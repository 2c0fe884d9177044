package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Order returns orders. do stores one and returns what it changed; nil lists the orders in
// force that the caller may see. Whether the caller may give it is do's to say: a grid job's
// owner may pause it, all else is for administrators.
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
