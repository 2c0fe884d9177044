// Package serve describes how the daemon serves the verbs of its socket. A [Verb] has its types and limits from package
// wire. The daemon adds the rank of the permitted callers, the time limit, and the function that carries out the verb.
// The packages of the engine make their verbs with [Handle] and [HandleStream], and package server calls these verbs.
package serve

import (
	"context"
	"io"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Verb is a verb with all that the daemon needs to serve it. [Handle] and [HandleStream] make a Verb.
type Verb struct {
	wire.About
	// Who is the rank that a caller needs to use the verb.
	Who Rank
	// Streams is set if further lines or bytes may follow the first line of the answer.
	Streams bool
	// Limit is the longest time to answer, if it is shorter than the setting gate.answer_time; otherwise 0.
	Limit time.Duration
	// Finishes is set if a stream continues while the daemon stops. See Finishing.
	Finishes bool

	read func(wire.Head, []byte) (wire.Request, error)
	do   func(context.Context, wire.Caller, wire.Find, wire.Request, Out) error
	find wire.Find
}

// Handle makes a verb from the function that carries it out. The server calls fn from many goroutines, only for callers
// whom the rank admits and with requests that were checked and whose handles were resolved. fn must return soon after
// ctx ends, which it does when the client closes the connection, the time to answer is over, or the daemon stops. The
// errors of fn have the kinds of package jjm:
//
//	Gone     | what the request names does not exist
//	Denied   | the caller may not do it
//	Invalid  | the request is wrong; the error has all problems
//	Conflict | the state of a job does not permit it
//	Busy     | it can be tried again
func Handle[Req wire.Request, Ans wire.Answer](v wire.Verb[Req, Ans], who Rank,
	fn func(context.Context, wire.Caller, Req) (Ans, error)) Verb {
	return handle(v, who, false, func(ctx context.Context, c wire.Caller, req Req, out Out) error {
		ans, err := fn(ctx, c, req)
		if err == nil {
			err = v.Complete(&req, &ans)
		}
		if err != nil {
			return err
		}
		return out.Begin(ans)
	})
}

// HandleStream makes a verb from a function that answers in several lines or in bytes, without a limit on its time. ctx
// ends when the client closes the connection, or when the daemon begins to stop (see [Verb.Finishing]). All other rules
// are those of [Handle].
func HandleStream[Req wire.Request, Ans wire.Answer](v wire.Verb[Req, Ans], who Rank,
	fn func(context.Context, wire.Caller, Req, *Stream[Ans]) error) Verb {
	return handle(v, who, true, func(ctx context.Context, c wire.Caller, req Req, out Out) error {
		return fn(ctx, c, req, &Stream[Ans]{out})
	})
}

func handle[Req wire.Request, Ans wire.Answer](v wire.Verb[Req, Ans], who Rank, streams bool,
	do func(context.Context, wire.Caller, Req, Out) error) Verb {
	return Verb{About: v.About, Who: who, Streams: streams,
		read: func(head wire.Head, line []byte) (wire.Request, error) { return v.Decode(head, line) },
		do: func(ctx context.Context, c wire.Caller, find wire.Find, r wire.Request, out Out) error {
			req := r.(Req)
			if err := v.Resolve(ctx, c, &req, find); err != nil {
				return err
			}
			return do(ctx, c, req, out)
		}}
}

// Within returns the verb with a time to answer that is shorter than the setting gate.answer_time.
func (v Verb) Within(d time.Duration) Verb {
	v.Limit = d
	return v
}

// Finishing returns the verb with the permission that a running stream continues while the daemon stops, for at most
// the drain time.
func (v Verb) Finishing() Verb {
	v.Finishes = true
	return v
}

// Resolving returns the verb with the function that finds the grid job of a handle. Without this function, every handle
// is unknown.
func (v Verb) Resolving(find wire.Find) Verb {
	v.find = find
	return v
}

// Read decodes a request line of the verb and checks the request. Its errors are the errors of [wire.Verb.Decode].
func (v Verb) Read(head wire.Head, line []byte) (wire.Request, error) { return v.read(head, line) }

// Do carries out a request that Read returned, or another request of the verb's type. It replaces the handles in the
// request by ids, calls the verb's function, and sends the answer to out. It does not check the caller's rank.
func (v Verb) Do(ctx context.Context, c wire.Caller, req wire.Request, out Out) error {
	return v.do(ctx, c, v.find, req, out)
}

// Check returns the mistake in a request line of this verb, nil if there is none. It is for tests, and decodes the line
// as package server does.
func (v Verb) Check(line []byte) error {
	head, err := wire.DecodeHead(line)
	if err != nil {
		return err
	}
	_, err = v.read(head, line)
	return err
}

// Ask carries out a request within the process, and returns the answer, or the last line of the answer of a stream. It
// does not check the caller's rank. The error is of kind Invalid if the verb is not among the served verbs.
func Ask[Req wire.Request, Ans wire.Answer](ctx context.Context, served []Verb, v wire.Verb[Req, Ans], c wire.Caller,
	req Req) (ans Ans, err error) {
	return AskFile(ctx, served, v, c, req, io.Discard)
}

// AskFile is [Ask] for a verb whose answer precedes bytes. It writes the bytes to to.
func AskFile[Req wire.Request, Ans wire.Answer](ctx context.Context, served []Verb, v wire.Verb[Req, Ans],
	c wire.Caller, req Req, to io.Writer) (ans Ans, err error) {
	for _, s := range served {
		if s.Name == v.Name {
			err = s.Do(ctx, c, req, &kept[Ans]{&ans, to})
			return ans, err
		}
	}
	return ans, jjm.Errorf(jjm.Invalid, "verb %q is not served", v.Name)
}

// kept is an [Out] that keeps the last line of an answer in ans, and passes bytes on.
type kept[Ans wire.Answer] struct {
	ans *Ans
	to  io.Writer
}

func (k *kept[Ans]) Line(ans wire.Answer, _ bool) error { return k.Begin(ans) }

func (k *kept[Ans]) Begin(ans wire.Answer) error {
	*k.ans = ans.(Ans)
	return nil
}

func (k *kept[Ans]) Write(b []byte) (int, error) { return k.to.Write(b) }
