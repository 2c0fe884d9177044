package gate

import (
	"context"
	"time"

	"jjm"
	"jjm/wire"
)

// Verb is a verb as the daemon serves it: what package wire says of it, who may ask, and what carries it out.
// [Handle] and [HandleStream] make one.
type Verb struct {
	wire.About
	// Who may ask.
	Who Rank
	// Lines or bytes follow the first line of the answer: [HandleStream] made it.
	Streams bool

	within   time.Duration // for the answer, where it is shorter than Config.AnswerTime; 0 = none
	finishes bool          // see Finishing
	read     func(wire.Head, []byte) (*request, error)
}

// Rank says who may ask for a verb.
type Rank int

// The ranks. A verb without one is nobody's.
const (
	// Anyone is every account that may connect.
	Anyone Rank = iota + 1
	// Owners are the accounts whose jobs or datasets are meant, and administrators. Only the function behind the verb
	// knows whose they are: it asks [wire.Caller.May].
	Owners
	// AnyoneReads is every account for a request that only asks, and administrators for one that changes something,
	// as its method Changes says.
	AnyoneReads
	// Administrators are root, the accounts of gate.admins, and where nobody else may connect the daemon's own.
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

// changer is a request that may change something. One that does not say counts as doing so.
type changer interface{ Changes() bool }

// admits reports whether the rank lets a caller ask.
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

// Handle makes a verb of the function that carries it out. The function is called from many goroutines, by callers
// that the rank admits and with requests that were checked. It returns soon after ctx ends: the client went away, the
// time for an answer is over, or the daemon stops. Its errors carry the kinds of package jjm: Gone for what does
// not exist, Denied, Invalid with all problems, Conflict for what the state of a job does not permit, Busy for what
// can be tried again.
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

// HandleStream makes a verb of a function that answers in lines or in bytes, for as long as it takes. Its context
// ends when the client goes away or the daemon wants to stop. The rest is as with [Handle].
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

// Within gives the verb a time of its own for the answer, which is shorter than gate.answer_time.
func (v Verb) Within(d time.Duration) Verb {
	v.within = d
	return v
}

// Finishing lets a stream go on while the daemon stops, within the drain time.
func (v Verb) Finishing() Verb {
	v.finishes = true
	return v
}

// Check reads a request line of this verb as the gate does, and returns what is wrong with it.
func (v Verb) Check(line []byte) error {
	head, err := wire.DecodeHead(line)
	if err != nil {
		return err
	}
	_, err = v.read(head, line)
	return err
}

// time bounds a request of the verb.
func (v Verb) time(stop, ctx context.Context, cfg Config) (context.Context, context.CancelFunc) {
	switch {
	case v.finishes:
		return context.WithCancel(ctx)
	case v.Streams:
		return either(stop, ctx)
	}
	return context.WithTimeout(ctx, v.answerTime(cfg))
}

func (v Verb) answerTime(cfg Config) time.Duration {
	if v.within > 0 {
		return min(v.within, cfg.AnswerTime.D())
	}
	return cfg.AnswerTime.D()
}

// denied is the error for a caller whom the rank does not admit.
func (v Verb) denied(c Caller) error {
	return jjm.Errorf(jjm.Denied, "%s: %s is no administrator: want root or one of gate.admins "+
		"(with gate.mode 0600 the daemon's account too)", v.Name, c.User)
}
