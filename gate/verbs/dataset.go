package verbs

import (
	"context"

	"jjm/gate"
	"jjm/wire"
)

// Dataset adds files to a dataset, closes it, marks files of it, or shows some. Those of others are Denied to who is no
// administrator.
func Dataset(do func(context.Context, gate.Caller, wire.Dataset) (wire.Datasets, error)) gate.Verb {
	return gate.Handle(wire.VerbDataset(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.DatasetRequest) (wire.DatasetAnswer, error) {
			sets, err := do(ctx, c, *r.Dataset)
			return wire.DatasetAnswer{Datasets: &sets}, err
		})
}
