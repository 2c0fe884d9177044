package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Record makes the verb that reads the XML record of a grid job. do runs the query; ""
// returns the whole record.
func Record(find Resolve,
	do func(ctx context.Context, c gate.Caller, id jjm.GridID, path string) ([]string, error)) gate.Verb {
	return onGrid(wire.VerbRecord(), find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, r wire.RecordRequest) (wire.RecordAnswer, error) {
			lines, err := do(ctx, c, id, r.Path)
			return wire.RecordAnswer{Record: lines}, err
		})
}
