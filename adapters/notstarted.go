package adapters

import (
	"errors"

	"jjm/internal/jjm"
)

// notStarted is the error of a call that ended before a command of the batch system, or another request to it, was
// started.
type notStarted struct{ error }

func (n notStarted) Unwrap() error { return n.error }

// NotStarted marks the error of a call that ended before a command of the batch system was
// started, for example because a circuit breaker is open. It returns nil for nil.
func NotStarted(err error) error {
	if err == nil {
		return nil
	}
	return notStarted{err}
}

// IsNotStarted reports whether err is of kind Busy and proves that no command was started. In that case no search in
// the batch system is needed to find out what the call did.
func IsNotStarted(err error) bool {
	var mark notStarted
	return jjm.KindOf(err) == jjm.Busy && errors.As(err, &mark)
}
