// Package all lists the built-in job types. A new one is one line here.
package all

import (
	"jjm/handlers"
	"jjm/handlers/montecarlo"
	"jjm/handlers/script"
)

// Registry gives the built-in job types.
func Registry() handlers.Registry {
	return handlers.NewRegistry(
		montecarlo.Handler{},
		script.Handler{},
	)
}
