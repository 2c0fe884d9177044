package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// History reads the journal. do returns the last limit entries, oldest first; 0 is its own limit. The zero reference is
// the journal of the orders of administrators, which every caller may read.
func History(find Resolve,
	do func(ctx context.Context, c gate.Caller, ref jjm.Ref, limit int) ([]jjm.JournalEntry, error)) gate.Verb {
	return gate.Handle(wire.VerbHistory(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.HistoryRequest) (wire.HistoryAnswer, error) {
			var ref jjm.Ref
			if !r.Orders {
				refs, err := find.refs(ctx, c, "history", r.Refs, false)
				if err != nil {
					return wire.HistoryAnswer{}, err
				}
				ref = refs[0]
			}
			entries, err := do(ctx, c, ref, r.Limit)
			return wire.HistoryAnswer{History: entries}, err
		})
}
