package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// UnknownHosts returns those of the hosts that are in no partition. Slurm refuses every submission that excludes a node
// which it does not have.
func (a *Adapter) UnknownHosts(ctx context.Context, hosts []string) ([]string, error) {
	text, err := command(ctx, a.timed, "sinfo", "-h", "-a", "-N", "-o", "%N")
	if err != nil {
		return nil, fmt.Errorf("slurm: ask for the nodes: %w", err)
	}
	known := adapters.Lines(string(text))
	var unknown []string
	for _, host := range hosts {
		if !slices.Contains(known, host) {
			unknown = append(unknown, host)
		}
	}
	return unknown, nil
}

// The texts with which Slurm refuses a submission that names a node which it does not have, and one that fits no node
// of the partition. Excluded nodes are not counted: if all nodes of a partition are excluded, Slurm refuses every job.
const (
	unknownNode = "Invalid node name specified"
	noneFits    = "Requested node configuration is not available"
)

// withoutHosts returns the error err of a submission that excludes hosts. If Slurm may have refused the submission
// because of these hosts, the returned error is of kind Busy: the job's own options may be wrong too, but an excluded
// host must not fail jobs.
func withoutHosts(err error, hosts []string) error {
	switch {
	case err == nil || len(hosts) == 0:
		return err
	case strings.Contains(err.Error(), unknownNode):
		return jjm.Errorf(jjm.Busy, "%s: if an excluded host has left Slurm, include it: jjm include HOST; excluded are %s",
			err, strings.Join(hosts, ", "))
	case strings.Contains(err.Error(), noneFits):
		return jjm.Errorf(jjm.Busy, "%s: the job fits none of the nodes that are left: include one, jjm include HOST, or kill "+
			"the job; excluded are %s", err, strings.Join(hosts, ", "))
	}
	return err
}
