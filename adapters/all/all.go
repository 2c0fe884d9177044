// Package all lists the built-in adapters, one in each line.
package all

import (
	"jjm/adapters"
	"jjm/adapters/command"
	"jjm/adapters/condor"
	"jjm/adapters/local"
	"jjm/adapters/pbs"
	"jjm/adapters/sge"
	"jjm/adapters/slurm"
)

// Registry returns the constructor for each kind of cluster that a configuration may name.
func Registry() adapters.Registry {
	return adapters.Registry{
		"command": command.New,
		"condor":  condor.New,
		"local":   local.Make,
		"pbs":     pbs.New,
		"sge":     sge.New,
		"slurm":   slurm.New,
	}
}
