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

// healthOf classifies the outcome of a call. ctx is the caller's context. It returns healthUnknown for these outcomes:
//
//	outcome                       why it shows nothing
//	ctx ended                     the call was cut short by its caller
//	Find                          Find may query several sources; it is unknown which source failed
//	marked by adapters.NotAsked   no command was sent
//	error of the run layer        the trouble is in the account of the command
//	Submit, Busy                  the error may be an answer ("too many jobs") or a time-out
//	Invalid, Denied, Gone, ...    the adapter may have made the error itself
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
