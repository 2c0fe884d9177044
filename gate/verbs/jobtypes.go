package verbs

import (
	"context"

	"jjm/gate"
	"jjm/wire"
)

// JobTypes documents the job types of this site.
func JobTypes(do func() []wire.JobType) gate.Verb {
	return gate.Handle(wire.VerbJobTypes(), gate.Anyone,
		func(context.Context, gate.Caller, wire.JobTypesRequest) (wire.JobTypesAnswer, error) {
			return wire.JobTypesAnswer{JobTypes: do()}, nil
		})
}
