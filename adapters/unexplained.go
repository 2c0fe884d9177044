package adapters

import "errors"

// unexplained is a refusal in unknown words.
type unexplained struct{ error }

func (u unexplained) Unwrap() error { return u.error }

// Unexplained marks the error of a Submit that the batch system refused in words that the adapter does not know, so
// that a repetition may succeed or not. jjm submits such a bulk again for a day, and then gives it up. Unexplained
// returns nil for nil.
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
