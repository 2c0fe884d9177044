package gatekeeper

import (
	"context"

	"jjm/wire"
)

// Clusters tells how full each cluster is, as the daemon says; there is no other
// way to know.
func (d *Door) Clusters(ctx context.Context) ([]wire.Cluster, error) {
	a, err := d.daemon().Do(ctx, wire.Request{Verb: wire.VerbClusters})
	return a.Clusters, err
}
