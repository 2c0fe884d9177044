package jjm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind classifies an error. The code that detects the error sets the kind. Packages plan and idealize decide by the
// kind how to react, and the commands derive their exit code from the kind.
type Kind uint8

// The kinds of error.
const (
	Unclassified Kind = iota
	Invalid           // the request itself is wrong; a retry cannot help
	Busy              // the action was certainly not done; a retry can help
	Ambiguous         // the action may have been done
	Denied            // not allowed for this caller
	Gone              // the named thing does not exist, or no longer exists
	Conflict          // the object is in a state that does not permit it
	Internal          // a promise of jjm itself was broken
)

var kindWords = [...]string{"", "invalid", "busy", "ambiguous", "denied", "gone", "conflict", "internal"}

func (k Kind) String() string { return word(kindWords[:], int(k)) }

// MarshalText writes the word.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the word.
func (k *Kind) UnmarshalText(b []byte) error {
	n, err := index(kindWords[:], "error kind", string(b))
	*k = Kind(n)
	return err
}

// Error is an error that has a kind.
type Error struct {
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an error of the given kind. format and args are the same as for fmt.Errorf, including %w.
func Errorf(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// KindOf returns the kind of the outermost classified error in err's chain, or
// Unclassified.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Unclassified
}

// Plainly returns err. But if err is the error of an ended context, Plainly returns an error that wraps err and has a
// text for people.
func Plainly(err error) error {
	switch {
	case err == context.DeadlineExceeded:
		return ended{"its time was over", err}
	case err == context.Canceled:
		return ended{"it was called off", err}
	}
	return err
}

// ended is the error of an ended context, with a text for people.
type ended struct {
	text string
	err  error
}

func (e ended) Error() string { return e.text }

// Unwrap returns the error of the context.
func (e ended) Unwrap() error { return e.err }

// Problem is one mistake in an input from outside. All problems of an input are reported together.
type Problem struct {
	// Where is the place: "job.toml:12", or "" if the input has no lines.
	Where string `json:"where,omitempty"`
	// Field is the dotted key: "params.events".
	Field string `json:"field,omitempty"`
	// Text names the mistake and the correct form.
	Text string `json:"text"`
	// Busy is true if the input could not be checked now and may be correct: a retry can help.
	Busy bool `json:"busy,omitempty"`
}

func (p Problem) String() string {
	s := p.Text
	if p.Field != "" {
		s = p.Field + ": " + s
	}
	if p.Where != "" {
		s = p.Where + ": " + s
	}
	return s
}

// Problems are all mistakes found in one input, as an error.
type Problems []Problem

func (ps Problems) Error() string {
	switch len(ps) {
	case 0:
		return "no problems"
	case 1:
		return ps[0].String()
	}
	s := Count(len(ps), "problem")
	for _, p := range ps {
		s += "\n  " + p.String()
	}
	return s
}

// Unsaid returns the problems of more that ps does not already explain. ps was found in the text of an input, more in
// the values read from the text. A problem of more is left out if ps has a problem of the same field, of a field around
// it or within it, or of the whole text: the value was then not read, and its problem is only a consequence.
func (ps Problems) Unsaid(more Problems) Problems {
	var out Problems
	for _, p := range more {
		if !ps.about(p.Field) {
			out = append(out, p)
		}
	}
	return out
}

// about reports whether ps has a problem of the field, of a field around or within the field, or of the whole input.
func (ps Problems) about(field string) bool {
	within := func(inner, outer string) bool {
		return strings.HasPrefix(inner, outer) &&
			(len(inner) == len(outer) || inner[len(outer)] == '.' || inner[len(outer)] == '[')
	}
	return slices.ContainsFunc(ps, func(p Problem) bool {
		return p.Field == "" || within(field, p.Field) || within(p.Field, field)
	})
}

// Err returns the problems as an error, or nil if there are none. The error is of kind Busy if all problems have Busy
// set, else of kind Invalid.
func (ps Problems) Err() error {
	switch {
	case len(ps) == 0:
		return nil
	case slices.ContainsFunc(ps, func(p Problem) bool { return !p.Busy }):
		return &Error{Kind: Invalid, Err: ps}
	}
	return &Error{Kind: Busy, Err: ps}
}
