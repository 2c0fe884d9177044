package verbs

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/wire"
)

// Clusters makes the verb that shows the state of the batch systems. do must name other accounts' jobs only to
// administrators. notes returns further sentences about the site for the caller.
func Clusters(do func(context.Context, gate.Caller) []wire.Cluster, notes func(gate.Caller) []string) gate.Verb {
	return gate.Handle(wire.VerbClusters(), gate.Anyone,
		func(ctx context.Context, c gate.Caller, _ wire.ClustersRequest) (wire.ClustersAnswer, error) {
			return wire.ClustersAnswer{Clusters: do(ctx, c), Notes: notes(c)}, nil
		})
}

// Reset makes the verb that closes the circuit breaker of a cluster. The error of do is
// Gone if the cluster does not exist.
func Reset(do func(ctx context.Context, c gate.Caller, cluster string) error) gate.Verb {
	return gate.Handle(wire.VerbReset(), gate.Administrators,
		func(ctx context.Context, c gate.Caller, r wire.ResetRequest) (wire.None, error) {
			return wire.None{}, do(ctx, c, r.Cluster)
		})
}
