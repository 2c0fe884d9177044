package verbs

import (
	"context"
	"errors"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Kill ends jobs. do stores the wish and answers for each reference, in order.
func Kill(find Resolve, do func(context.Context, gate.Caller, []jjm.Ref) []wire.Killed) gate.Verb {
	return gate.Handle(wire.VerbKill(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.KillRequest) (wire.KillAnswer, error) {
			names, refs, err := find.each(ctx, c, "kill", r.Refs, false)
			if err != nil {
				return wire.KillAnswer{}, err
			}
			refs = known(names, refs)
			killed := do(ctx, c, refs)
			return wire.KillAnswer{Kill: allKilled(names, r.Refs, killed)}, counted("kill", len(killed), len(refs))
		})
}

// allKilled puts what was killed in the places of the references as they were asked for. What was refused is over.
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
