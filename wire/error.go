package wire

import (
	"errors"

	"jjm"
)

// Error is an error as the socket carries it.
type Error struct {
	Kind     jjm.Kind     `json:"kind"`
	Text     string       `json:"text"`
	Problems jjm.Problems `json:"problems,omitempty"`
}

// Bounds on an error as it travels: enough for a person, harmless to a client.
const (
	maxErrorText = 64 << 10
	maxProblems  = 1000
)

// ErrorOf makes of an error what the socket carries; of nil it is nil. An
// unclassified error is Internal: whoever raised it did not say better.
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

// Err returns the error as Go knows it: of its kind, with its problems in
// its chain. Of a nil e it is nil.
func (e *Error) Err() error {
	if e == nil {
		return nil
	}
	return &jjm.Error{Kind: e.Kind, Err: &remote{text: e.Text, problems: e.Problems}}
}

// remote is an error that arose in the daemon.
type remote struct {
	text     string
	problems jjm.Problems
}

func (r *remote) Error() string { return r.text }

// Unwrap returns the problems to errors.As, if there are any.
func (r *remote) Unwrap() error {
	if len(r.problems) == 0 {
		return nil
	}
	return r.problems
}

// Refused is the error for a handle that a gatekeeper was told though no grid
// job could be made of what it submitted: an answer, not trouble. It is final.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return "refused: " + r.Reason }
