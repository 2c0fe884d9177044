// Package all lists the built-in job types, one in each line.
package all

import (
	"jjm/handlers"
	"jjm/handlers/cdfmc"
	"jjm/handlers/concat"
	"jjm/handlers/montecarlo"
	"jjm/handlers/passthrough"
	"jjm/handlers/reprocess"
	"jjm/handlers/script"
)

// Registry returns the built-in job types.
func Registry() handlers.Registry {
	return handlers.NewRegistry(
		cdfmc.New(),
		concat.New(),
		montecarlo.Handler{},
		passthrough.New(),
		reprocess.New(),
		script.Handler{},
	)
}
