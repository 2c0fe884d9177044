package engine_test

import (
	"context"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/idealize"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/adaptertest"
)

// asAccount is a Runner that only names an account, and runs no commands.
type asAccount int

func (a asAccount) UID() int { return int(a) }
func (a asAccount) Run(context.Context, run.Cmd) (run.Output, error) {
	return run.Output{}, jjm.Errorf(jjm.Internal, "nothing is run here")
}

// byOwner runs the commands of a batch system as the owners of the jobs.
type byOwner struct{ adapters.Adapter }

func (b byOwner) as(ctx context.Context, o jjm.Owner) context.Context {
	return run.WithRunner(ctx, asAccount(80_000+o.UID))
}
func (b byOwner) Submit(ctx context.Context, bulk adapters.Bulk) (adapters.Receipt, error) {
	return b.Adapter.Submit(b.as(ctx, bulk.Owner), bulk)
}
func (b byOwner) List(ctx context.Context, o jjm.Owner, since time.Time) (adapters.Listing, error) {
	return b.Adapter.List(b.as(ctx, o), o, since)
}
func (b byOwner) Find(ctx context.Context, o jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	return b.Adapter.Find(b.as(ctx, o), o, tags)
}
func (b byOwner) Account(ctx context.Context, o jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	return b.Adapter.Account(b.as(ctx, o), o, jobs)
}
func (b byOwner) Control(ctx context.Context, o jjm.Owner, op adapters.Op, jobs []adapters.Ref) ([]error, error) {
	return b.Adapter.Control(b.as(ctx, o), o, op, jobs)
}
func (b byOwner) Status() idealize.Status {
	return b.Adapter.(interface{ Status() idealize.Status }).Status()
}
func (b byOwner) Reset() {}

// holdsUp is a batch system whose commands hang or are killed by a signal if they run as alice.
type holdsUp struct {
	*faulty
	killed bool
	verbs  map[string]bool // the verbs that hang or are killed; nil means all
}

func (h holdsUp) at(ctx context.Context, o jjm.Owner, verb string) error {
	switch {
	case o.User != alice.User || h.verbs != nil && !h.verbs[verb]:
		return nil
	case !h.killed:
		<-ctx.Done()
		return jjm.Errorf(jjm.Ambiguous, "%s: stopped: %w", verb, ctx.Err())
	}
	return jjm.Errorf(jjm.Ambiguous, "%s: killed by signal 9", verb)
}
func (h holdsUp) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	if err := h.at(ctx, b.Owner, "submit"); err != nil {
		return adapters.Receipt{}, err
	}
	return h.faulty.Submit(ctx, b)
}
func (h holdsUp) List(ctx context.Context, o jjm.Owner, since time.Time) (adapters.Listing, error) {
	if err := h.at(ctx, o, "list"); err != nil {
		return adapters.Listing{}, err
	}
	return h.faulty.List(ctx, o, since)
}
func (h holdsUp) Find(ctx context.Context, o jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	if err := h.at(ctx, o, "find"); err != nil {
		return nil, err
	}
	return h.faulty.Find(ctx, o, tags)
}
func (h holdsUp) Account(ctx context.Context, o jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	if err := h.at(ctx, o, "account"); err != nil {
		return nil, err
	}
	return h.faulty.Account(ctx, o, jobs)
}
func (h holdsUp) Control(ctx context.Context, o jjm.Owner, op adapters.Op, refs []adapters.Ref) ([]error, error) {
	if err := h.at(ctx, o, "control"); err != nil {
		return nil, err
	}
	return h.faulty.Control(ctx, o, op, refs)
}

// Alice's commands hang until they are stopped, or are killed. Bob's jobs are submitted, listed and killed
// nevertheless. The cluster stays healthy, and its circuit breaker stays closed.
func TestHeldUp_HangingCommandsDelayOnlyTheirAccount(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]holdsUp{
		"all hang":              {},
		"all are killed":        {killed: true},
		"submissions hang":      {verbs: map[string]bool{"submit": true}},
		"listings hang":         {verbs: map[string]bool{"list": true}},
		"listings, accountings": {verbs: map[string]bool{"list": true, "account": true, "find": true, "control": true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := func(w *world) []engine.Cluster {
				h.faulty = w.adapter
				a := idealize.Wrap(h, engine.Defaults().ClusterDefaults().Config, idealize.Deps{})
				return []engine.Cluster{{Kind: "sim", Adapter: byOwner{a}}}
			}
			o := options{sim: adaptertest.SimConfig{Life: 5 * time.Second, MaxBulk: 2, Slots: 50}, clusters: clusters}
			inWorld(t, o, func(t *testing.T, w *world) {
				first := w.submit(bob, plain(1))
				w.final(5*time.Minute, first)
				for range 4 {
					w.submit(alice, plain(6))
				}
				w.pass(time.Second)
				for range 10 {
					began := time.Now()
					id := w.submit(bob, plain(1))
					w.final(5*time.Minute, id)
					if took := time.Since(began); took > 25*time.Second { // measured by the bubble's clock
						t.Errorf("bob's job of 5 s took %v", took)
					}
					if c := w.site("sim"); !c.Healthy || c.Breaker != nil {
						t.Errorf("the cluster is said to be ill: %+v", c)
					}
				}
				long := w.submit(bob, plain(1))
				w.pass(time.Second)
				began := time.Now()
				r, err := jjm.ParseRef(long.String())
				w.must(err)
				w.engine.Kill(t.Context(), bob, []jjm.Ref{r}, wire.KillHow{})
				w.final(time.Minute, long)
				if took := time.Since(began); took > 25*time.Second {
					t.Errorf("the kill of bob's took %v", took)
				}
			})
		})
	}
}
