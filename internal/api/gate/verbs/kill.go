package verbs

import (
	"context"
	"errors"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Kill makes the verb that ends jobs. do stores the request and returns an answer for each
// reference, in order.
func Kill(find Resolve, do func(context.Context, gate.Caller, []jjm.Ref, wire.KillHow) []wire.Killed) gate.Verb {
	return gate.Handle(wire.VerbKill(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.KillRequest) (wire.KillAnswer, error) {
			names, refs, err := find.each(ctx, c, "kill", r.Refs, false)
			if err != nil {
				return wire.KillAnswer{}, err
			}
			refs = resolved(names, refs)
			killed := do(ctx, c, refs, r.KillHow)
			return wire.KillAnswer{Kill: allKilled(names, r.Refs, killed)}, checkCount("kill", len(killed), len(refs))
		})
}

// allKilled returns an answer for each reference in the order asked, given the answers for
// the references that could be resolved. A submission that was refused counts as a job that is over.
func allKilled(names []named, asked []string, killed []wire.Killed) []wire.Killed {
	if names == nil {
		return killed
	}
	out := make([]wire.Killed, len(names))
	for i, n := range names {
		var r *wire.Refused
		switch {
		case errors.As(n.err, &r):
			out[i].NoChange = true
		case n.err != nil:
			out[i].Error = wire.ErrorOf(n.err)
		case len(killed) > 0:
			out[i], killed = killed[0], killed[1:]
		}
		out[i].Ref = asked[i]
	}
	return out
}
