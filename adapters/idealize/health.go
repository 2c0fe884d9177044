package idealize

import (
	"context"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// health is the state of a batch system, judged by the outcome of a call.
type health uint8

const (
	healthUnknown health = iota // the outcome shows nothing
	responded
	noResponse
)

// healthOf classifies the outcome of a call. ctx is the caller's.
//
//	outcome                       why it shows nothing
//	ctx ended                     the call was cut short by its caller
//	Find                          it may ask several sources; which one failed is not known
//	marked by adapters.NotAsked   no command was sent
//	error of the run layer        it is trouble of the account that the command runs as
//	Submit, Busy                  "too many jobs" is an answer, a time-out is not
//	Invalid, Denied, Gone, ...    they may come from the adapter alone
func healthOf(ctx context.Context, verb Verb, err error) health {
	if ctx.Err() != nil || verb == Find || run.IsRunnerError(err) || adapters.IsNotAsked(err) {
		return healthUnknown
	}
	if err == nil {
		return responded
	}
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Denied, jjm.Gone, jjm.Conflict:
		return healthUnknown
	case jjm.Busy:
		if verb == Submit {
			return healthUnknown
		}
	}
	return noResponse
}
