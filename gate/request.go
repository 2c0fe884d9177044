package gate

import (
	"context"
	"errors"
	"time"

	"jjm"
	"jjm/wire"
)

// request is a request that was read and checked.
type request struct {
	verb Verb
	req  wire.Request
	do   func(context.Context, *session) error
}

// do carries out a request.
func (c *session) do(stop, ctx context.Context, req *request) error {
	if !req.verb.Who.admits(c.caller, req.req) {
		return req.verb.denied(c.caller)
	}
	ctx, cancel := req.verb.time(stop, ctx, c.cfg)
	defer cancel()
	if err := req.do(ctx, c); err != nil {
		return c.explain(ctx, req, err)
	}
	return nil
}

// explain tells an end of ctx from other errors: it says what the client can
// do. A request that was cut off may have been carried out.
func (c *session) explain(ctx context.Context, req *request, err error) error {
	if ctx.Err() == nil {
		return err
	}
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Denied, jjm.Gone, jjm.Conflict:
		return err
	}
	why := context.Cause(ctx)
	if errors.Is(why, context.DeadlineExceeded) {
		why = jjm.Errorf(jjm.Busy, "%s: no answer within %v: try again", req.verb.Name,
			req.verb.answerTime(c.cfg).Round(time.Millisecond))
	}
	if unsure := wire.UnsureOf(req.req); unsure != "" {
		return jjm.Errorf(jjm.Ambiguous, "%s: %s: %w", req.verb.Name, unsure, why)
	}
	return why
}
