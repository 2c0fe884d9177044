package adapters

import "errors"

// unexplained marks a rejection with an unknown message.
type unexplained struct{ error }

func (u unexplained) Unwrap() error { return u.error }

// Unexplained marks the error of a Submit that the batch system rejected with a message that the adapter does not know.
// A repetition may succeed or fail, so jjm submits such a bulk again for a day and then fails it. Unexplained returns
// nil for nil.
func Unexplained(err error) error {
	if err == nil {
		return nil
	}
	return unexplained{err}
}

// IsUnexplained reports whether err is marked by [Unexplained].
func IsUnexplained(err error) bool {
	var mark unexplained
	return errors.As(err, &mark)
}
