package main

import "flag"

// splitJob previews how a job file would be cut.
type splitJob struct{}

func splitCommand() command {
	return command{
		name: "split", args: "--preview FILE [FLAGS]", summary: "Print the local jobs that a job file would make; no daemon needed",
		example: "jjm split --preview job.toml --limit 5",
		make:    func() verb { return splitJob{} },
	}
}

func (splitJob) flags(*flag.FlagSet) {}

func (splitJob) run(*cli) error { return nil }

// pass hands the arguments on: the daemon's program has job types and splitters.
func (splitJob) pass(_ *cli, args []string) error { return becomeDaemon("split", args) }
