package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
)

// Records makes the verb that runs a query on the records of many grid jobs. do calls send
// for each record with a result, until send fails or ctx ends, and returns that error.
func Records(do func(ctx context.Context, c gate.Caller, path string, of wire.Selection,
	send func(wire.Found) error) error) gate.Verb {
	return gate.HandleStream(wire.VerbRecords(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.RecordsRequest, out *gate.Stream[wire.RecordsAnswer]) error {
			err := do(ctx, c, r.Path, r.Of, func(f wire.Found) error {
				return out.Line(wire.RecordsAnswer{Found: &f}, false)
			})
			if err != nil {
				return err
			}
			return out.Line(wire.RecordsAnswer{}, true)
		})
}
