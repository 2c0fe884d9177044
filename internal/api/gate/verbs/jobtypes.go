package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
)

// JobTypes makes the verb that documents the job types of the site.
func JobTypes(do func() []wire.JobType) gate.Verb {
	return gate.Handle(wire.VerbJobTypes(), gate.Anyone,
		func(context.Context, gate.Caller, wire.JobTypesRequest) (wire.JobTypesAnswer, error) {
			return wire.JobTypesAnswer{JobTypes: do()}, nil
		})
}
