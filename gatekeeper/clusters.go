package gatekeeper

import (
	"context"

	"jjm/gate/client"
	"jjm/wire"
)

// Clusters tells how full each cluster is, as the daemon says; there is no other
// way to know.
func (d *Door) Clusters(ctx context.Context) ([]wire.Cluster, error) {
	a, err := client.Call(ctx, d.daemon(), wire.VerbClusters(), wire.ClustersRequest{})
	return a.Clusters, err
}
