package verbs

import (
	"context"
	"errors"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Lookup makes the verb that returns the status of grid jobs. do returns an answer for each
// id, in order. If one fails, its answer has Error set.
func Lookup(find Resolve, do func(context.Context, gate.Caller, []jjm.GridID) []wire.Lookup) gate.Verb {
	return gate.Handle(wire.VerbLookup(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.LookupRequest) (wire.LookupAnswer, error) {
			names, refs, err := find.each(ctx, c, "lookup", r.Refs, true)
			if err != nil {
				return wire.LookupAnswer{}, err
			}
			ids := make([]jjm.GridID, 0, len(refs))
			for _, ref := range resolved(names, refs) {
				ids = append(ids, ref.Grid)
			}
			found := do(ctx, c, ids)
			return wire.LookupAnswer{Lookup: allLookups(names, found)}, checkCount("lookup", len(found), len(ids))
		})
}

// allLookups returns an answer for each reference, given the answers for the references that could
// be resolved.
func allLookups(names []named, found []wire.Lookup) []wire.Lookup {
	if names == nil {
		return found
	}
	out := make([]wire.Lookup, len(names))
	for i, n := range names {
		if n.err != nil {
			out[i] = unresolved(n)
			continue
		}
		if len(found) == 0 {
			break
		}
		out[i], found = found[0], found[1:]
		out[i].Handle = n.handle
	}
	return out
}

// unresolved returns the answer for a handle without a grid job. If the submission was read
// from the spool and refused, the answer is that the job has failed.
func unresolved(n named) wire.Lookup {
	var r *wire.Refused
	if !errors.As(n.err, &r) {
		return wire.Lookup{Handle: n.handle, Error: wire.ErrorOf(n.err)}
	}
	return wire.Lookup{Handle: n.handle, Status: jjm.Broken.String(), GRAM: jjm.GRAMFailed,
		Code: jjm.GRAMExecutionFailed, Message: r.Error(), Master: "failed", Exit: 1}
}
