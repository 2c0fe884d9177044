package adapters

import (
	"errors"

	"jjm/internal/jjm"
)

// notStarted is the error of a call that ended before the command that does the call's work, or another such request to
// the batch system, was started.
type notStarted struct{ error }

func (n notStarted) Unwrap() error { return n.error }

// NotStarted marks the error of a call that ended before the command that does its work was started: a circuit breaker
// is open, the site's hook cannot run, the command does not exist. Earlier commands that change nothing do not matter,
// for example the question for a version. An adapter marks every error of Submit that it returns before the submission
// command; CLI.Run marks its own errors. NotStarted returns nil for nil.
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
