package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
)

// Dataset makes the verb for datasets: it adds files, closes datasets, marks files and
// shows datasets. do must deny the datasets of other accounts to callers who are not
// administrators.
func Dataset(do func(context.Context, gate.Caller, wire.Dataset) (wire.Datasets, error)) gate.Verb {
	return gate.Handle(wire.VerbDataset(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.DatasetRequest) (wire.DatasetAnswer, error) {
			sets, err := do(ctx, c, *r.Dataset)
			return wire.DatasetAnswer{Datasets: &sets}, err
		})
}
