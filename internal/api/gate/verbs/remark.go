package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Remark makes the verb that adds a gatekeeper's observation to the history of a grid job.
// do reports whether the text differs from the last one.
func Remark(find Resolve, do func(context.Context, gate.Caller, jjm.GridID, string) (bool, error)) gate.Verb {
	return onGridBy(wire.VerbRemark(), gate.Administrators, find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, r wire.RemarkRequest) (wire.RemarkAnswer, error) {
			news, err := do(ctx, c, id, r.Remark)
			return wire.RemarkAnswer{News: news}, err
		})
}
