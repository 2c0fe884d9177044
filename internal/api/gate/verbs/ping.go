package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
)

// Ping makes the verb that returns the version of the daemon.
func Ping(version string) gate.Verb {
	return gate.Handle(wire.VerbPing(), gate.Anyone,
		func(context.Context, gate.Caller, wire.PingRequest) (wire.PingAnswer, error) {
			return wire.PingAnswer{Version: version}, nil
		})
}
