package verbs

import (
	"context"

	"jjm/gate"
	"jjm/wire"
)

// Clusters tells how the batch systems are, and with notes what people should know of the site beside them.
func Clusters(do func(context.Context) []wire.Cluster, notes func() []string) gate.Verb {
	return gate.Handle(wire.VerbClusters(), gate.Anyone,
		func(ctx context.Context, _ gate.Caller, _ wire.ClustersRequest) (wire.ClustersAnswer, error) {
			return wire.ClustersAnswer{Clusters: do(ctx), Notes: notes()}, nil
		})
}

// Reset closes the circuit breaker of a cluster: Gone if there is no such cluster.
func Reset(do func(ctx context.Context, c gate.Caller, cluster string) error) gate.Verb {
	return gate.Handle(wire.VerbReset(), gate.Administrators,
		func(ctx context.Context, c gate.Caller, r wire.ResetRequest) (wire.None, error) {
			return wire.None{}, do(ctx, c, r.Cluster)
		})
}
