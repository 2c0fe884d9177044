package wire

import (
	"errors"

	"jjm/internal/jjm"
)

// Error is an error as it is sent on the socket.
type Error struct {
	Kind     jjm.Kind     `json:"kind"`
	Text     string       `json:"text"`
	Problems jjm.Problems `json:"problems,omitempty"`
}

// The limits of an Error: enough text for a person, and short enough for every client.
const (
	maxErrorText = 64 << 10
	maxProblems  = 1000
)

// ErrorOf converts an error to the form that is sent on the socket; nil stays nil. An unclassified error gets the kind
// Internal, because no code that handled the error knew its kind. An error of kind Internal that wraps [jjm.Problems]
// gets the kind Invalid.
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

// Err converts e back to an error of the same kind, in which errors.As finds the problems. If e is nil, it returns nil.
func (e *Error) Err() error {
	if e == nil {
		return nil
	}
	return &jjm.Error{Kind: e.Kind, Err: &remote{text: e.Text, problems: e.Problems}}
}

// NotAttempted returns the error for each reference that a command skips because it failed for ref, an earlier
// reference.
func NotAttempted(ref string) error {
	return jjm.Errorf(jjm.Conflict, "not attempted: it failed for %s before", ref)
}

// remote is an error that the daemon reported, with its text and its problems.
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

// Refused is the error for a handle whose submission was refused after the gatekeeper had got the handle. The refusal
// is final: no grid job has the handle, and none will get it.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return "refused: " + r.Reason }
