package app

import (
	"context"
	"slices"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
)

// adTime is how long sending an ad may take. If a collector hangs, the client must still get the answer about this
// collector within the client's own deadline.
const adTime = 20 * time.Second

// served returns the verbs of the daemon's socket, in the order of docs/SOCKET.md: the verbs of the engine, and the
// verbs about the daemon itself.
func served(version string, e *engine.Engine, b brokers) []serve.Verb {
	all := append(e.Verbs(),
		serve.Handle(wire.VerbPing(), serve.Anyone, func(context.Context, wire.Caller, wire.PingRequest) (
			wire.PingAnswer, error) {
			return wire.PingAnswer{Version: version}, nil
		}),
		serve.Handle(wire.VerbModels(), serve.Anyone, func(context.Context, wire.Caller, wire.ModelsRequest) (
			wire.ModelsAnswer, error) {
			return wire.ModelsAnswer{Models: b.models()}, nil
		}),
		serve.Handle(wire.VerbClusters(), serve.Anyone, func(ctx context.Context, c wire.Caller,
			_ wire.ClustersRequest) (wire.ClustersAnswer, error) {
			return wire.ClustersAnswer{Clusters: e.Clusters(ctx, c), Notes: b.notes(c)}, nil
		}),
		serve.Handle(wire.VerbHealth(), serve.Anyone, func(ctx context.Context, c wire.Caller, _ wire.HealthRequest) (
			wire.HealthAnswer, error) {
			return wire.HealthAnswer{Health: e.Health(ctx, c, b.around(c, version))}, nil
		}),
		serve.Handle(wire.VerbAdvertise(), serve.AnyoneReads, b.advertised).Within(adTime))
	return inOrder(all)
}

// inOrder sorts verbs in the order of [wire.Verbs].
func inOrder(all []serve.Verb) []serve.Verb {
	place := make(map[string]int)
	for i, about := range wire.Verbs() {
		place[about.Name] = i
	}
	slices.SortStableFunc(all, func(a, b serve.Verb) int { return place[a.Name] - place[b.Name] })
	return all
}
