package adapters

import (
	"errors"

	"jjm/internal/jjm"
)

// notStarted is the error of a call that ended before its main command, or its main request to the batch system, was
// started. The main command is the command that does the work of the call.
type notStarted struct{ error }

func (n notStarted) Unwrap() error { return n.error }

// NotStarted marks the error of a call that ended before the command that does its work was started. Possible causes
// are an open circuit breaker, a hook that cannot run, or a missing command. It does not matter whether the call has
// run commands that change nothing, for example to learn the version. An adapter marks every error of Submit that it
// returns before the submission command; CLI.Run marks its own errors. NotStarted returns nil for nil.
func NotStarted(err error) error {
	if err == nil {
		return nil
	}
	return notStarted{err}
}

// IsNotStarted reports whether err is of kind Busy and proves that the command that does the call's work was not
// started. In that case no search in the batch system is needed to find out what the call did.
func IsNotStarted(err error) bool {
	var mark notStarted
	return jjm.KindOf(err) == jjm.Busy && errors.As(err, &mark)
}
