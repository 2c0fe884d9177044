package verbs

import (
	"context"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// Status tells everything of jobs. do answers for each reference, in order: the detail of its grid job, with the local
// jobs that it names. What is wrong with one is in the Error of its Lookup; an error is of the whole.
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

// List lists grid jobs: do returns those that the caller may see, newest first.
func List(do func(context.Context, gate.Caller, wire.List) ([]wire.Status, error)) gate.Verb {
	return gate.Handle(wire.VerbList(), gate.Owners,
		func(ctx context.Context, c gate.Caller, r wire.ListRequest) (wire.StatusAnswer, error) {
			var l wire.List
			if r.List != nil {
				l = *r.List
			}
			st, err := do(ctx, c, l)
			return wire.StatusAnswer{Status: st}, err
		})
}

// Watch calls send with the state of jobs at once, and again at every change but a few times a second at most, until
// all are final (nil), send fails (its error) or ctx ends (its error). A reference that cannot be answered is an
// error of the whole.
type Watch func(ctx context.Context, c gate.Caller, refs []jjm.Ref, send func([]wire.Status) error) error

// Wait answers a line per change. The last line repeats the last state.
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
