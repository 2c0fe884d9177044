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

// unknownNode is what Slurm answers to a submission that names a node which it does not have.
const unknownNode = "Invalid node name specified"

// excludedGone returns the error err of a submission that excludes hosts. If Slurm refused the submission because it
// does not know a node, the returned error is of kind Busy: the nodes of the job's own options may be wrong too, but an
// excluded host that has left Slurm must not fail jobs.
func excludedGone(err error, hosts []string) error {
	if err == nil || len(hosts) == 0 || !strings.Contains(err.Error(), unknownNode) {
		return err
	}
	return jjm.Errorf(jjm.Busy, "%s: if an excluded host has left Slurm, include it: jjm include HOST; excluded are %s",
		err, strings.Join(hosts, ", "))
}
