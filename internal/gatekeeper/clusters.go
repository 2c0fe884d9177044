package gatekeeper

import (
	"context"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
)

// Clusters returns the state of each cluster. Only the daemon knows the states, so Clusters returns an error if the
// daemon does not answer.
func (d *Client) Clusters(ctx context.Context) ([]wire.Cluster, error) {
	a, err := client.Call(ctx, d.daemon(), wire.VerbClusters(), wire.ClustersRequest{})
	return a.Clusters, err
}
