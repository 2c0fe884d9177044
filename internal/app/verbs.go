package app

import (
	"context"

	"jjm/internal/api/gate"
	"jjm/internal/api/gate/verbs"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
)

// served returns the verbs of the daemon's socket, in the order in which docs/SOCKET.md shows them.
func served(version string, e *engine.Engine, b brokers) []gate.Verb {
	find := verbs.Resolve(e.Resolve)
	return []gate.Verb{
		verbs.Ping(version),
		verbs.Submit(e.Submit),
		verbs.Lookup(find, e.Lookup),
		verbs.Kill(find, e.Kill),
		verbs.Release(find, e.Release),
		verbs.Resubmit(find, e.Resubmit),
		verbs.Copy(find, e.Copy),
		verbs.Remove(find, e.Remove),
		verbs.Select(find, e.Select),
		verbs.Status(find, e.Status),
		verbs.List(find, e.List),
		verbs.Wait(find, e.Watch),
		verbs.Record(find, e.Record),
		verbs.Records(e.Records),
		verbs.Output(find, e.Output),
		verbs.Cat(find, e.Cat, e.ListFiles, verbs.Poll),
		verbs.History(find, e.History, e.Attempts),
		verbs.Explain(find, e.Explain),
		verbs.Why(find, func(ctx context.Context, c gate.Caller, refs []jjm.Ref) ([]wire.Why, error) {
			return e.Why(ctx, c, refs) // not the bound method of a field of e, which may be nil until a verb is called
		}),
		verbs.Log(find, e.Log),
		verbs.JobTypes(e.JobTypes),
		verbs.Models(b.models),
		verbs.Clusters(e.Clusters, b.notes),
		verbs.Health(func(ctx context.Context, c gate.Caller) *wire.Health {
			return e.Health(ctx, c, b.around(c, version))
		}),
		verbs.Order(find, e.Order),
		verbs.Reset(e.Reset),
		verbs.Ban(e.Ban),
		verbs.Renew(find, e.Renew),
		verbs.Remark(find, e.Remark),
		verbs.Advertise(b.advertised),
		verbs.Dataset(e.Dataset),
		verbs.Verify(find, e.Verify),
		verbs.Retract(find, e.Retract),
		verbs.Replay(find, e.Replay),
	}
}
