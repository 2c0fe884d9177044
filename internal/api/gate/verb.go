package gate

import (
	"context"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Verb is a verb as the daemon serves it: its description from package wire, who may use
// it, and the function that carries it out. [Handle] and [HandleStream] make one.
type Verb struct {
	wire.About
	// Who may use the verb.
	Who Rank
	// Streams is set if lines or bytes follow the first line of the answer.
	Streams bool

	within   time.Duration // limit of the time to answer if shorter than Config.AnswerTime; 0 means none
	finishes bool          // see Finishing
	read     func(wire.Head, []byte) (*request, error)
}

// Rank says who may use a verb.
type Rank int

// The ranks. Nobody may use a verb without a rank.
const (
	// Anyone is every account that may connect.
	Anyone Rank = iota + 1
	// Owners are the owners of the jobs or datasets concerned, and administrators. Only the
	// function of the verb knows the owners, so it must check [wire.Caller.May] itself.
	Owners
	// AnyoneReads is every account for a request that only reads, and administrators for
	// a request that changes something. The request's method Changes distinguishes these; a request without the
	// method counts as a change.
	AnyoneReads
	// Administrators are root, the accounts of gate.admins, and the daemon's own account if
	// no other account may connect.
	Administrators
)

func (r Rank) String() string {
	switch r {
	case Anyone:
		return "anyone"
	case Owners:
		return "owners"
	case AnyoneReads:
		return "anyone; changes: admins"
	case Administrators:
		return "admins"
	}
	return "nobody"
}

// changer is a request that says whether it changes something. A request without the method counts as a change.
type changer interface{ Changes() bool }

// admits reports whether a caller of this rank may make the request.
func (r Rank) admits(c Caller, req wire.Request) bool {
	switch r {
	case Anyone, Owners:
		return true
	case AnyoneReads:
		ch, ok := req.(changer)
		return c.Admin || ok && !ch.Changes()
	case Administrators:
		return c.Admin
	}
	return false
}

// Handle makes a verb from the function that carries it out. The gate calls fn from many
// goroutines, only for callers whom the rank admits and with requests that were checked. fn
// must return soon after ctx ends, which it does when the client closes the connection, the
// time to answer is over, or the daemon stops. Its errors have the kinds of package jjm:
//
//	Gone     | what the request names does not exist
//	Denied   | the caller may not do it
//	Invalid  | the request is wrong; the error has all problems
//	Conflict | the state of a job does not permit it
//	Busy     | it can be tried again
func Handle[Req wire.Request, Ans wire.Answer](v wire.Verb[Req, Ans], who Rank,
	fn func(context.Context, Caller, Req) (Ans, error)) Verb {
	return handle(v, who, false, func(ctx context.Context, c *session, req Req) error {
		ans, err := fn(ctx, c.caller, req)
		if err != nil {
			return err
		}
		line, err := v.AnswerLine(ans, false)
		if err != nil {
			return err
		}
		return c.send(line)
	})
}

// HandleStream makes a verb from a function that answers in several lines or in bytes and
// may take any time. ctx ends when the client closes the connection or the daemon begins to
// stop. For the rest see [Handle].
func HandleStream[Req wire.Request, Ans wire.Answer](v wire.Verb[Req, Ans], who Rank,
	fn func(context.Context, Caller, Req, *Stream[Ans]) error) Verb {
	return handle(v, who, true, func(ctx context.Context, c *session, req Req) error {
		return fn(ctx, c.caller, req, &Stream[Ans]{session: c, line: v.AnswerLine})
	})
}

func handle[Req wire.Request, Ans wire.Answer](v wire.Verb[Req, Ans], who Rank, streams bool,
	do func(context.Context, *session, Req) error) Verb {
	verb := Verb{About: v.About, Who: who, Streams: streams}
	verb.read = func(head wire.Head, line []byte) (*request, error) {
		req, err := v.Decode(head, line)
		if err != nil {
			return nil, err
		}
		return &request{req: req, do: func(ctx context.Context, c *session) error { return do(ctx, c, req) }}, nil
	}
	return verb
}

// Within limits the time to answer to less than gate.answer_time.
func (v Verb) Within(d time.Duration) Verb {
	v.within = d
	return v
}

// Finishing lets a stream go on while the daemon stops, within the drain time.
func (v Verb) Finishing() Verb {
	v.finishes = true
	return v
}

// Check decodes a request line of this verb as the gate does and returns its mistakes. It
// is for tests.
func (v Verb) Check(line []byte) error {
	head, err := wire.DecodeHead(line)
	if err != nil {
		return err
	}
	_, err = v.read(head, line)
	return err
}

// context returns the context of a request of the verb. It ends with ctx; for a stream that does not finish also with
// stop, and for a verb that is not a stream after the time to answer.
func (v Verb) context(stop, ctx context.Context, cfg Config) (context.Context, context.CancelFunc) {
	switch {
	case v.finishes:
		return context.WithCancel(ctx)
	case v.Streams:
		return withStop(stop, ctx)
	}
	return context.WithTimeout(ctx, v.answerTime(cfg))
}

func (v Verb) answerTime(cfg Config) time.Duration {
	if v.within > 0 {
		return min(v.within, cfg.AnswerTime.D())
	}
	return cfg.AnswerTime.D()
}

// denied returns the error for a caller whom the rank does not admit.
func (v Verb) denied(c Caller) error {
	return jjm.Errorf(jjm.Denied, "%s: %s is no administrator: want root or one of gate.admins "+
		"(with gate.mode 0600 the daemon's account too)", v.Name, c.User)
}
