package server

import (
	"context"
	"errors"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// request is a request of a client that was read and checked, with its verb.
type request struct {
	verb serve.Verb
	req  wire.Request
}

// do carries out a request. stop ends when the daemon begins to stop, ctx when the request must end. If the caller's
// rank is too low for the verb, the error is of kind Denied.
func (c *session) do(stop, ctx context.Context, req *request) error {
	if !req.verb.Who.Admits(c.caller, req.req) {
		return denied(req.verb.Name, c.caller)
	}
	ctx, cancel := limited(stop, ctx, req.verb, c.cfg)
	defer cancel()
	if err := req.verb.Do(ctx, c.caller, req.req, answer{c}); err != nil {
		return c.explain(ctx, req, err)
	}
	return nil
}

// explain returns the error that the client gets for err, the error of a request. If ctx has ended, it returns the
// cause of the end instead of err, unless err shows that the request was not carried out. If the request may have been
// carried out and a repetition may do harm, the kind is Ambiguous, so that the client does not repeat it.
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
			jjm.HowLong(answerTime(req.verb, c.cfg)))
	}
	if unsure := wire.UnsureOf(req.req); unsure != "" {
		return jjm.Errorf(jjm.Ambiguous, "%s: %s: %w", req.verb.Name, unsure, why)
	}
	return why
}

// answer sends the answer of a request to the client.
type answer struct{ *session }

// Line implements [serve.Out].
func (a answer) Line(ans wire.Answer, last bool) error {
	err := a.line(ans, last)
	if err == nil {
		a.answered = last
	}
	return err
}

// Begin implements [serve.Out].
func (a answer) Begin(ans wire.Answer) error { return a.line(ans, false) }

func (a answer) line(ans wire.Answer, last bool) error {
	line, err := wire.AnswerLine(ans, last)
	if err != nil {
		return err
	}
	return a.send(line)
}

// limited returns the context for a request of a verb. The context ends with ctx. If the verb is a stream that does not
// finish while the daemon stops, the context also ends with stop. If the verb is not a stream, it also ends after the
// time to answer.
func limited(stop, ctx context.Context, v serve.Verb, cfg Config) (context.Context, context.CancelFunc) {
	switch {
	case v.Finishes:
		return context.WithCancel(ctx)
	case v.Streams:
		return withStop(stop, ctx)
	}
	return context.WithTimeout(ctx, answerTime(v, cfg))
}

// withStop returns a context that ends when ctx ends, or, with the cause errStopping, when stop ends.
func withStop(stop, ctx context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancelCause(ctx)
	done := context.AfterFunc(stop, func() { cancel(errStopping()) })
	return both, func() { done(); cancel(nil) }
}

func answerTime(v serve.Verb, cfg Config) time.Duration {
	if v.Limit > 0 {
		return min(v.Limit, cfg.AnswerTime.D())
	}
	return cfg.AnswerTime.D()
}

// denied returns the error for a caller whose rank is too low for a verb.
func denied(verb string, c Caller) error {
	return jjm.Errorf(jjm.Denied, "%s: %s is no administrator: want root or one of gate.admins "+
		"(with gate.mode 0600 the daemon's account too)", verb, c.User)
}
