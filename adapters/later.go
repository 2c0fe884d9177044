package adapters

import "errors"

// laterError is the error of a call that must not be repeated immediately.
type laterError struct {
	error
	asked bool // whether a command was sent
}

func (l *laterError) Unwrap() error { return l.error }

// Later marks an error of kind Busy: the call is repeated only in the caller's next cycle, because a repetition within
// seconds would make the trouble worse.
func Later(err error) error { return &laterError{err, true} }

// NotAsked marks an error in the same way as [Later], for a call for which the adapter sent no command because it
// wanted to spare the batch system. Such an error shows nothing about the batch system's health.
func NotAsked(err error) error { return &laterError{err, false} }

// IsLater reports whether an error is marked by [Later] or [NotAsked].
func IsLater(err error) bool {
	var l *laterError
	return errors.As(err, &l)
}

// IsNotAsked reports whether an error is marked by [NotAsked].
func IsNotAsked(err error) bool {
	var l *laterError
	return errors.As(err, &l) && !l.asked
}
