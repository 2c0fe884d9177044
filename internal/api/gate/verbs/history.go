package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// History makes the verb that reads the journal. do returns the last limit entries, oldest first; 0 means its
// default. For the zero reference it returns the journal of the administrators' orders; do must leave out the orders
// about other accounts. attempts returns the attempts of one local job.
func History(find Resolve,
	do func(ctx context.Context, c gate.Caller, ref jjm.Ref, limit int) ([]jjm.JournalEntry, error),
	attempts func(ctx context.Context, c gate.Caller, ref jjm.Ref) ([]wire.Attempt, error)) gate.Verb {
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
			if err != nil || !ref.Locals || ref.First != ref.Last {
				return wire.HistoryAnswer{History: entries}, err
			}
			all, err := attempts(ctx, c, ref)
			return wire.HistoryAnswer{History: entries, Attempts: all}, err
		})
}
