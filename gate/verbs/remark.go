package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Remark puts something that a gatekeeper noticed into a grid job's history. do reports whether it is news.
func Remark(find Resolve, do func(context.Context, gate.Caller, jjm.GridID, string) (bool, error)) gate.Verb {
	return onGridBy(wire.VerbRemark(), gate.Administrators, find,
		func(ctx context.Context, c gate.Caller, id jjm.GridID, r wire.RemarkRequest) (wire.RemarkAnswer, error) {
			news, err := do(ctx, c, id, r.Remark)
			return wire.RemarkAnswer{News: news}, err
		})
}
