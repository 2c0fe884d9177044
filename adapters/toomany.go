package adapters

import (
	"errors"

	"jjm/internal/jjm"
)

// tooMany marks the rejection of a bulk because of the number of jobs.
type tooMany struct{ error }

func (t tooMany) Unwrap() error { return t.error }

// TooMany marks the error of a Submit that the batch system rejected because the account would have too many jobs, or
// because the bulk has too many members. The batch system may accept a smaller bulk, or the same bulk later. The error
// is of kind Busy. TooMany returns nil for nil.
func TooMany(err error) error {
	if err == nil {
		return nil
	}
	return tooMany{err}
}

// IsTooMany reports whether err is of kind Busy and marked by [TooMany].
func IsTooMany(err error) bool {
	var mark tooMany
	return jjm.KindOf(err) == jjm.Busy && errors.As(err, &mark)
}
