package wire

import (
	"context"

	"jjm/internal/jjm"
)

// Verb is one verb of the socket: its name, its limits, and the types of its request and its answer. Each verb is
// defined in a file named after its noun, together with these types.
type Verb[Req Request, Ans Answer] struct{ About }

// About describes a verb without the types of its request and answer.
type About struct {
	Name string
	// Help describes the verb in one sentence.
	Help string
	// Version is the version of the request and the answer; 0 means 1. The version must grow if an older client could
	// misunderstand the answer, or an older daemon the request. A new optional member does not change the version.
	Version int
	// MaxBytes is the longest request line, in bytes.
	MaxBytes int
	// Spooled is set if a gatekeeper may leave the request in the spool (package spool) while no daemon answers. All
	// other requests need a daemon.
	Spooled bool
	// Grids is set if the references of a request must be to whole grid jobs.
	Grids bool
	// Each is set if the answer has an entry for each reference. The error for a handle that cannot be resolved is then in
	// the entry of this reference. Otherwise it is the error of the whole request.
	Each bool
}

// The longest request lines, in bytes.
const (
	// MaxRequest is the longest request line of all verbs. A job file may have 4 MiB, and JSON escapes some of its
	// characters.
	MaxRequest = 8 << 20
	// maxWithRefs has room for MaxRefs references of maxRef bytes each.
	maxWithRefs = 1 << 20
	// maxShort is for requests with a few short texts.
	maxShort = 64 << 10
)

// Request is the request of a verb: a struct that embeds [Head] and has one member for each argument.
type Request interface {
	// Check returns the first mistake that can be found without knowledge of the site and its jobs. The error is of kind
	// Invalid and names the member.
	Check() error
	head() Head
}

// Head has the members that all requests have in common.
type Head struct {
	Verb string `json:"verb"`
	// Version is the version of the verb that the client uses. It is left out for version 1.
	Version int `json:"v,omitempty"`
}

func (h Head) head() Head { return h }

// Answer is the answer of a verb: a struct that embeds [Reply], with the members of a
// success.
type Answer interface {
	// Outcome returns the members that all answers have in common.
	Outcome() Reply
	// Check returns an error if a success lacks a member. The error is of kind Internal,
	// because the daemon is at fault.
	Check() error
}

// Reply has the members that all answers have in common. An answer with an error has no other members.
type Reply struct {
	OK bool `json:"ok"`
	// Last is set in the last line of an answer of several lines, and in every answer with an error.
	Last  bool   `json:"last,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// Outcome returns r.
func (r Reply) Outcome() Reply { return r }

// Check accepts every answer. It is for answers whose members are all optional.
func (Reply) Check() error { return nil }

// present returns an error of kind Internal if an answer lacks a required member.
func present(member string, there bool) error {
	if !there {
		return jjm.Errorf(jjm.Internal, "answer of the daemon: member %s is missing", member)
	}
	return nil
}

// None is the answer of a verb that returns nothing but its success.
type None struct{ Reply }

// unsure is implemented by requests that the daemon may have carried out although their answer was lost.
type unsure interface {
	// Unsure returns the text for a lost answer: the possible effects of the request, and how to find out about them. It
	// returns "" if a repeated request does no harm.
	Unsure() string
}

// UnsureOf describes what may have happened to a request whose answer was lost. It returns "" if a repeated request
// does no harm.
func UnsureOf(r Request) string {
	if u, ok := r.(unsure); ok {
		return u.Unsure()
	}
	return ""
}

// version returns the version of the verb, 1 or more.
func (a About) version() int { return max(a.Version, 1) }

// Line returns the request as one line of JSON, with its newline. The error is of kind Invalid if the line is longer
// than MaxBytes.
func (v Verb[Req, Ans]) Line(req Req) ([]byte, error) { return v.requestLine(&req) }

// Decode reads the request in a line whose head [DecodeHead] returned, and checks the request. Its errors are of kind
// Invalid and show the correct form. If the client is newer than the daemon, the error is of kind Busy, because the
// daemon may soon be restarted in the newer version.
func (v Verb[Req, Ans]) Decode(head Head, line []byte) (Req, error) {
	var req Req
	if err := v.decode(head, line, &req); err != nil {
		return req, err
	}
	return req, req.Check()
}

// Find returns the grid job that has a handle. The error is of kind Gone if no grid job has the handle, and of kind
// Denied if the grid job belongs to another account. It is a [Refused] if the submission with the handle was refused.
type Find func(context.Context, Caller, jjm.Handle) (jjm.GridID, error)

// refers is implemented by pointers to those requests that name jobs.
type refers interface {
	// resolve parses the references of a request and replaces handles by ids.
	resolve(a About, find func(jjm.Handle) (jjm.GridID, error)) error
}

// Resolve parses the references of a request, and replaces handles by the ids that find returns. If find is nil, every
// handle is an error of kind Gone. Resolve does not change a request that names no jobs.
func (v Verb[Req, Ans]) Resolve(ctx context.Context, c Caller, req *Req, find Find) error {
	r, ok := any(req).(refers)
	if !ok {
		return nil
	}
	err := r.resolve(v.About, func(h jjm.Handle) (jjm.GridID, error) {
		if find == nil {
			return 0, jjm.Errorf(jjm.Gone, "no grid job is known by %s", h)
		}
		return find(ctx, c, h)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Complete adds to an answer the entries for the references that Resolve could not resolve, if the verb has an entry
// for each reference (About.Each). The error is of kind Internal if the answer lacks another entry.
func (v Verb[Req, Ans]) Complete(req *Req, ans *Ans) error {
	r, ok := any(req).(interface{ complete(About, any) error })
	if !ok || !v.Each {
		return nil
	}
	return r.complete(v.About, ans)
}

// DecodeAnswer reads an answer. It ignores unknown members, because the daemon may be newer than the client. If the
// daemon answered with an error, this error is in the Reply of the answer, and DecodeAnswer returns no error. Its own
// error is of kind Internal: the line is not an answer of the verb.
func (v Verb[Req, Ans]) DecodeAnswer(line []byte) (Ans, error) {
	var ans Ans
	if err := decodeAnswer(line, &ans); err != nil {
		return ans, err
	}
	if !ans.Outcome().OK {
		return ans, nil
	}
	return ans, ans.Check()
}
