package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
)

// Models makes the verb that shows the models of job files.
func Models(do func() []wire.Model) gate.Verb {
	return gate.Handle(wire.VerbModels(), gate.Anyone,
		func(context.Context, gate.Caller, wire.ModelsRequest) (wire.ModelsAnswer, error) {
			return wire.ModelsAnswer{Models: do()}, nil
		})
}
