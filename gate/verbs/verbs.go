// Package verbs makes the verbs of the daemon's socket of plain functions: a file for each, or for each noun, with who
// may ask, how a request becomes a call, and how what the call returns becomes an answer. It knows no engine: the
// daemon, and tests, give the functions.
//
// The functions are called from many goroutines, with callers that the kernel named and requests that were checked.
// What else they promise is said with [gate.Handle] and with each verb.
package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Resolve finds the grid job that a handle names. The error is Gone if it names none, [wire.Refused] if what was
// submitted under it was refused, Denied if it is another account's.
type Resolve func(context.Context, gate.Caller, jjm.Handle) (jjm.GridID, error)

// refs reads the references of a request, handles included; the first that means nothing is an error of the whole.
// With grid set, only whole grid jobs will do.
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

// grid reads the reference of a request about one grid job.
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

// onGrid makes a verb about one grid job, for its owner.
func onGrid[Req aboutOne, Ans wire.Answer](v wire.Verb[Req, Ans], find Resolve,
	do func(context.Context, gate.Caller, jjm.GridID, Req) (Ans, error)) gate.Verb {
	return onGridBy(v, gate.Owners, find, do)
}

// onGridBy is onGrid for those who have a rank.
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

// named is a reference that was made with a handle.
type named struct {
	handle jjm.Handle
	err    error
}

// each reads references one by one: named has an entry for each, or is nil if none was a handle.
func (find Resolve) each(ctx context.Context, c gate.Caller, verb string, refs []string, grid bool) (
	[]named, []jjm.Ref, error) {
	plain, names, err := find.resolve(ctx, c, refs)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := wire.ParseRefs(verb, plain, grid)
	return names, parsed, err
}

// resolve replaces the handles among references by the ids of their grid jobs. named has an entry for each reference,
// or is nil if none was a handle; where its err is set, the plain reference is to grid job 1.
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

// known are the references that could be resolved.
func known(names []named, refs []jjm.Ref) []jjm.Ref {
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

// counted refuses an answer that has not an entry for each reference.
func counted(verb string, answers, refs int) error {
	if answers != refs {
		return jjm.Errorf(jjm.Internal, "%s: %d answers for %d ids", verb, answers, refs)
	}
	return nil
}
