// Package all lists the adapters that are built in: one line each.
package all

import (
	"jjm/adapters"
	"jjm/adapters/local"
)

// Registry gives the kinds of clusters that a configuration may name.
func Registry() adapters.Registry {
	return adapters.Registry{
		"local": local.Make,
	}
}
