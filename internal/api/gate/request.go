package gate

import (
	"context"
	"errors"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// request is a request that was read and checked.
type request struct {
	verb Verb
	req  wire.Request
	do   func(context.Context, *session) error
}

// do carries out a request if the caller may make it.
func (c *session) do(stop, ctx context.Context, req *request) error {
	if !req.verb.Who.admits(c.caller, req.req) {
		return req.verb.denied(c.caller)
	}
	ctx, cancel := req.verb.context(stop, ctx, c.cfg)
	defer cancel()
	if err := req.do(ctx, c); err != nil {
		return c.explain(ctx, req, err)
	}
	return nil
}

// explain returns the error for the client. If ctx ended, err only says that; the client
// needs to know why it ended, and, if the request may have been carried out, that it must
// not simply repeat it.
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
		why = jjm.Errorf(jjm.Busy, "%s: no answer within %s: try again", req.verb.Name,
			jjm.HowLong(req.verb.answerTime(c.cfg)))
	}
	if unsure := wire.UnsureOf(req.req); unsure != "" {
		return jjm.Errorf(jjm.Ambiguous, "%s: %s: %w", req.verb.Name, unsure, why)
	}
	return why
}
