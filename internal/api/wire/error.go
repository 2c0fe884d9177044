package wire

import (
	"errors"

	"jjm/internal/jjm"
)

// Error is the form of an error on the socket.
type Error struct {
	Kind     jjm.Kind     `json:"kind"`
	Text     string       `json:"text"`
	Problems jjm.Problems `json:"problems,omitempty"`
}

// The limits of an error on the wire: enough text for a person, and short enough for every client.
const (
	maxErrorText = 64 << 10
	maxProblems  = 1000
)

// ErrorOf converts an error for the wire; nil stays nil. An unclassified error becomes Internal, because no code that
// handled the error knew its kind. An error that wraps [jjm.Problems] becomes at least Invalid.
func ErrorOf(err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Kind: jjm.KindOf(err), Text: err.Error()}
	if e.Kind == jjm.Unclassified {
		e.Kind = jjm.Internal
	}
	if len(e.Text) > maxErrorText {
		e.Text = e.Text[:maxErrorText] + "..."
	}
	var ps jjm.Problems
	if errors.As(err, &ps) {
		if e.Kind == jjm.Internal {
			e.Kind = jjm.Invalid
		}
		if len(ps) > maxProblems {
			ps = ps[:maxProblems]
		}
		e.Problems = ps
	}
	return e
}

// Err converts the error back: the result has the same kind, and errors.As finds its problems. A nil e stays nil.
func (e *Error) Err() error {
	if e == nil {
		return nil
	}
	return &jjm.Error{Kind: e.Kind, Err: &remote{text: e.Text, problems: e.Problems}}
}

// NotAttempted returns the error for the references that a command skipped because an earlier reference, ref, failed.
func NotAttempted(ref string) error {
	return jjm.Errorf(jjm.Conflict, "not attempted: it failed for %s before", ref)
}

// remote is an error that the daemon reported, with its kind and problems.
type remote struct {
	text     string
	problems jjm.Problems
}

func (r *remote) Error() string { return r.text }

// Unwrap returns the problems, if there are any.
func (r *remote) Unwrap() error {
	if len(r.problems) == 0 {
		return nil
	}
	return r.problems
}

// Refused is the error for a handle whose submission was refused after the gatekeeper had received the handle. The
// refusal is final: no grid job exists for the handle, and none will be made.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return "refused: " + r.Reason }
