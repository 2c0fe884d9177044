package main

import (
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// requested holds the flags for the resources that a command requests for local jobs in place of those of the job file.
type requested struct {
	Memory   *int64        `placeholder:"MIB" help:"They request this much memory from now on, in MiB as request.memory_mb of a job file."`
	Walltime *jjm.Duration `placeholder:"DURATION" help:"They request this wall time from now on: 90m, 12h."`
	Queue    *string       `placeholder:"NAME" help:"They go to this queue or partition from now on."`
	To       *string       `name:"to-cluster" placeholder:"NAME" help:"They go to this cluster only from now on, one of those of the grid job."`
}

// resources returns the resources that the flags request, nil if no flag is set. It returns an error for empty values;
// the daemon checks the limits.
func (r *requested) resources() (*jjm.Resources, error) {
	var asked jjm.Resources
	if r.Memory != nil {
		if asked.MemoryMB = *r.Memory; asked.MemoryMB < 1 {
			return nil, usage("--memory %d: want a number of MiB from 1 on", asked.MemoryMB)
		}
	}
	if r.Walltime != nil {
		if asked.Walltime = *r.Walltime; asked.Walltime == 0 {
			return nil, usage("--walltime 0s: want 1s or more")
		}
	}
	if r.Queue != nil {
		if asked.Queue = *r.Queue; asked.Queue == "" {
			return nil, usage("--queue: want the name of a queue")
		}
	}
	if r.To != nil {
		if asked.Cluster = *r.To; asked.Cluster == "" {
			return nil, usage("--to-cluster: want the name of a cluster")
		}
	}
	if asked == (jjm.Resources{}) {
		return nil, nil
	}
	return &asked, nil
}

// nameFlags replaces the keys of job files in the problems of an error by the names of the flags that set the same
// values.
func nameFlags(e *wire.Error) {
	if e == nil || len(e.Problems) == 0 {
		return
	}
	for i := range e.Problems {
		switch p := &e.Problems[i]; p.Field {
		case "request.memory_mb":
			p.Field = "--memory"
		case "request.walltime":
			p.Field = "--walltime"
		case "request.queue":
			p.Field = "--queue"
		case "clusters":
			p.Field = "--to-cluster"
		}
	}
	e.Text = e.Problems.Error()
}
