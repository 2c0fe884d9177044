package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
	"jjm/internal/policy/why"
	"jjm/internal/testkit/adaptertest"
)

// deaf is a batch system that does not list the jobs of alice while it is set to refuse that.
type deaf struct {
	*faulty
	refuses atomic.Bool
}

func (d *deaf) List(ctx context.Context, o jjm.Owner, since time.Time) (adapters.Listing, error) {
	if d.refuses.Load() && o.UID == alice.UID {
		return adapters.Listing{}, jjm.Errorf(jjm.Busy, "%w", errors.New("squeue: access denied"))
	}
	return d.faulty.List(ctx, o, since)
}

// Each account is asked for its jobs as that account. If one account gets no answer and others do, the cluster is well,
// but nobody is told that all is well with the jobs of this account: why, status, clusters and health name the refusal.
func TestUnlisted_TheJobsOfOneAccountAreNotListed(t *testing.T) {
	t.Parallel()
	var d *deaf
	clusters := func(w *world) []engine.Cluster {
		d = &deaf{faulty: w.adapter}
		return []engine.Cluster{{Kind: "sim", Adapter: d}}
	}
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}, clusters: clusters},
		func(t *testing.T, w *world) {
			hers, his := w.submit(alice, mc(2)), w.submit(bob, mc(2))
			w.running(hers, 2)
			w.running(his, 2)
			d.refuses.Store(true)
			w.pass(10 * time.Minute)
			she := jjm.ActorOf("alice", alice.UID)
			c := w.causes(hers, why.Unknown, 2, "cluster sim answers no listing, and the local job goes on meanwhile: asked as "+
				she+": squeue: access denied")
			if c.Since == 0 || !strings.Contains(c.Remedy, w.sim.Diagnosis()) {
				t.Errorf("%+v", c)
			}
			w.causes(his, why.Running, 2, "")
			if got := w.detail(hers, 0).Silent; got == nil || got.Since != c.Since || got.AsOf == 0 || got.AsOf >= got.Since {
				t.Errorf("the status of a local job: %+v", got)
			}
			h := w.state("listing", "sim", health.Warning, "cluster sim has not listed the jobs of "+she+" for ")
			if h.Detail != "squeue: access denied" || h.Remedy != c.Remedy {
				t.Errorf("%+v", h)
			}
			for _, caller := range []wire.Caller{bob, alice, admin} {
				told := len(w.engine.Clusters(t.Context(), caller)[0].Unlisted)
				if want := map[bool]int{true: 0, false: 1}[caller.UID == bob.UID]; told != want {
					t.Errorf("%s is told about %d accounts, want %d", caller.User, told, want)
				}
			}
			d.refuses.Store(false)
			w.pass(10 * time.Minute)
			w.causes(hers, why.Running, 2, "")
			w.state("listing", "sim", health.OK, "cluster sim answers")
			if got := w.detail(hers, 0).Silent; got != nil {
				t.Errorf("after it: %+v", got)
			}
		})
}
