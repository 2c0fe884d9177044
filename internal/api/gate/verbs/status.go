package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Status makes the verb that returns all details of jobs. do returns an answer for each
// reference, in order: the detail of its grid job with the local jobs selected. If one
// fails, its Lookup has Error set; an error of do fails the whole request.
func Status(find Resolve, do func(context.Context, gate.Caller, []jjm.Ref) ([]wire.Status, error)) gate.Verb {
	return gate.Handle(wire.VerbStatus(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.StatusRequest) (wire.StatusAnswer, error) {
			refs, err := find.refs(ctx, c, "status", r.Refs, false)
			if err != nil {
				return wire.StatusAnswer{}, err
			}
			st, err := do(ctx, c, refs)
			return wire.StatusAnswer{Status: st}, err
		})
}

// List makes the verb that lists grid jobs. do returns the grid jobs that the caller may see, newest first. It is
// called with ids in place of handles.
func List(find Resolve, do func(context.Context, gate.Caller, wire.List) ([]wire.Status, error)) gate.Verb {
	return gate.Handle(wire.VerbList(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.ListRequest) (wire.StatusAnswer, error) {
			var l wire.List
			if r.List != nil {
				l = *r.List
			}
			var err error
			if l.Refs, err = find.patterns(ctx, c, l.Refs); err != nil {
				return wire.StatusAnswer{}, err
			}
			st, err := do(ctx, c, l)
			return wire.StatusAnswer{Status: st}, err
		})
}

// Watch calls send with the state of jobs immediately and again when it changes, a few times a second at most. It
// returns nil when all jobs are final, else the error of send or of ctx. A reference without an answer is an error of
// the whole request.
type Watch func(ctx context.Context, c gate.Caller, refs []jjm.Ref, send func([]wire.Status) error) error

// Wait makes the verb that sends a line at each change. The last line repeats the last
// state.
func Wait(find Resolve, do Watch) gate.Verb {
	return gate.HandleStream(wire.VerbWait(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.WaitRequest, out *gate.Stream[wire.StatusAnswer]) error {
			refs, err := find.refs(ctx, c, "wait", r.Refs, false)
			if err != nil {
				return err
			}
			var last []wire.Status
			err = do(ctx, c, refs, func(st []wire.Status) error {
				last = st
				return out.Line(wire.StatusAnswer{Status: st}, false)
			})
			if err != nil {
				return err
			}
			return out.Line(wire.StatusAnswer{Status: last}, true)
		})
}
