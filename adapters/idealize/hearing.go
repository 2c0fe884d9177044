package idealize

import (
	"context"

	"jjm"
	"jjm/run"
)

// hearing is what the outcome of a call says about its batch system.
type hearing uint8

const (
	unsaid hearing = iota // nothing
	answer
	silence
)

// hear says what an outcome means. ctx is the caller's: if it ended, the call
// was cut short, which says nothing.
//
// Find may ask several sources, so its outcome does not tell of which one. A submission
// that is Busy may be an answer ("too many jobs") or none. Invalid, Denied and their like may come from the
// adapter alone. Trouble of the account that a command was to run as is that
// account's.
func hear(ctx context.Context, verb Verb, err error) hearing {
	if ctx.Err() != nil || verb == Find || run.IsRunners(err) {
		return unsaid
	}
	if err == nil {
		return answer
	}
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Denied, jjm.Gone, jjm.Conflict:
		return unsaid
	case jjm.Busy:
		if verb == Submit {
			return unsaid
		}
	}
	return silence
}
