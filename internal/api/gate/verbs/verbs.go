// Package verbs makes the verbs of the daemon's socket from plain functions, in a file for
// each noun. A file says who may use the verb, how the request becomes a call, and how the
// result becomes the answer. The functions come from the daemon, or from tests: the package
// knows no engine.
//
// The functions are called from many goroutines, with callers that the kernel reported and
// requests that were checked. What else they must observe is documented at [gate.Handle]
// and at each verb.
package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Resolve returns the grid job of a handle. The error is Gone if no grid job has it,
// [wire.Refused] if its submission was refused, and Denied if the job belongs to another
// account.
type Resolve func(context.Context, gate.Caller, jjm.Handle) (jjm.GridID, error)

// refs parses the references of a request and resolves handles. The first reference that
// cannot be resolved is an error of the whole request. If grid is set, a reference to local
// jobs is an error.
func (find Resolve) refs(ctx context.Context, c gate.Caller, verb string, refs []string, grid bool) ([]jjm.Ref, error) {
	plain, named, err := find.resolve(ctx, c, refs)
	if err != nil {
		return nil, err
	}
	for _, n := range named {
		if n.err != nil {
			return nil, n.err
		}
	}
	return wire.ParseRefs(verb, plain, grid)
}

// grid parses the reference of a request about one grid job.
func (find Resolve) grid(ctx context.Context, c gate.Caller, verb, ref string) (jjm.GridID, error) {
	parsed, err := find.refs(ctx, c, verb, []string{ref}, true)
	if err != nil {
		return 0, err
	}
	return parsed[0].Grid, nil
}

// aboutOne is a request about exactly one job.
type aboutOne interface {
	wire.Request
	Ref() string
}

// onGrid makes a verb about one grid job that its owner may use.
func onGrid[Req aboutOne, Ans wire.Answer](v wire.Verb[Req, Ans], find Resolve,
	do func(context.Context, gate.Caller, jjm.GridID, Req) (Ans, error)) gate.Verb {
	return onGridBy(v, gate.Owners, find, do)
}

// onGridBy makes a verb about one grid job that callers of the rank may use.
func onGridBy[Req aboutOne, Ans wire.Answer](v wire.Verb[Req, Ans], who gate.Rank, find Resolve,
	do func(context.Context, gate.Caller, jjm.GridID, Req) (Ans, error)) gate.Verb {
	return gate.Handle(v, who, func(ctx context.Context, c gate.Caller, r Req) (ans Ans, err error) {
		id, err := find.grid(ctx, c, v.Name, r.Ref())
		if err != nil {
			return ans, err
		}
		return do(ctx, c, id, r)
	})
}

// named is the result for a reference: the handle if it was one, and the error if that
// could not be resolved.
type named struct {
	handle jjm.Handle
	err    error
}

// each parses the references one by one. The first result has an entry for each reference,
// or is nil if none is a handle.
func (find Resolve) each(ctx context.Context, c gate.Caller, verb string, refs []string, grid bool) (
	[]named, []jjm.Ref, error) {
	plain, names, err := find.resolve(ctx, c, refs)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := wire.ParseRefs(verb, plain, grid)
	return names, parsed, err
}

// resolve replaces the handles among the references by the ids of their grid jobs. names
// has an entry for each reference, or is nil if none is a handle. Where a handle could not
// be resolved, err of the entry is set and plain has a reference to grid job 1, so that the
// positions stay the same; see [resolved].
func (find Resolve) resolve(ctx context.Context, c gate.Caller, refs []string) (
	plain []string, names []named, err error) {
	for i, ref := range refs {
		h, rest, ok := jjm.CutHandle(ref)
		if !ok {
			continue
		}
		if names == nil {
			plain, names = append(plain, refs...), make([]named, len(refs))
		}
		id, err := find(ctx, c, h)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			id = 1
		}
		names[i] = named{handle: h, err: err}
		plain[i] = id.String() + rest
	}
	if names == nil {
		return refs, nil, nil
	}
	return plain, names, nil
}

// resolved returns the references whose handles could be resolved.
func resolved(names []named, refs []jjm.Ref) []jjm.Ref {
	if names == nil {
		return refs
	}
	out := make([]jjm.Ref, 0, len(refs))
	for i, r := range refs {
		if names[i].err == nil {
			out = append(out, r)
		}
	}
	return out
}

// checkCount returns an error if the daemon did not return an answer for each reference.
func checkCount(verb string, answers, refs int) error {
	if answers != refs {
		return jjm.Errorf(jjm.Internal, "%s: %d answers for %d ids", verb, answers, refs)
	}
	return nil
}
