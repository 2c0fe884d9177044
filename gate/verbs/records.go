package verbs

import (
	"context"

	"jjm/gate"
	"jjm/wire"
)

// Records asks the records of many grid jobs, a line of the answer each. do calls send with
// what it finds, until that fails (its error) or ctx ends (its error).
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
