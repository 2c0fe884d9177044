package sge

import (
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/testbed"
)

// onBed makes an adapter for the Grid Engine of the test bed. change may change its configuration.
func onBed(t testing.TB, bed *testbed.Bed, bin string, change ...func(*Config)) *Adapter {
	t.Helper()
	env := adapters.Env{State: t.TempDir(), Now: time.Now, Warn: func(msg string, args ...any) {
		t.Log(append([]any{msg}, args...)...)
	}}
	a, err := New("bed", env, func(c any) error {
		cfg := c.(*Config)
		cfg.Bin, cfg.Env, cfg.PE, cfg.Accounting = bin, bed.Env, "smp", bed.Vars["ACCOUNTING"]
		for _, f := range change {
			f(cfg)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.(*Adapter)
}

func TestConformance(t *testing.T) {
	bed := testbed.Start(t, "sge")
	a := onBed(t, bed, bed.Bin) // all checks share this adapter
	if err := a.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := adaptertest.ShareListings(a, bed.Owner)
	adaptertest.Run(t, func(t *testing.T) adaptertest.System {
		return adaptertest.System{
			Adapter: all, Probed: true, Owner: bed.Owner, Dir: bed.Dir(t),
			// The patience is enough for a machine with two cores on which other tests run.
			Patience: await.Guard(6 * time.Minute),
			Walltime: 2 * time.Second, Pause: 100 * time.Millisecond, Parallel: true, Jobs: 60, AllExits: true,
			NotHere: map[string]string{
				"the jobs of two owners are kept apart": "the bed's commands act for one account only",
				"a lost node is reported":               "the bed has one node",
				"a job that history forgot is left out": "the accounting file forgets nobody; TestHistory covers its rotation",
				"the memory limit is enforced":          "h_vmem makes malloc fail and ends no job; see TestRecord_AFailureNearTheMemoryLimitIsLabelled",
			},
			Bin: bed.Bin, Commands: []string{"qsub", "qstat", "qdel", "qhold", "qrls", "qmod", "qconf", "qhost"},
			Submits:    "qsub",
			WithBin:    func(t adaptertest.TB, bin string) adapters.Adapter { return onBed(t.(testing.TB), bed, bin) },
			Requeue:    func(t adaptertest.TB, id string) { bed.Do(t.(testing.TB), "reschedule", id) },
			SystemHold: func(t adaptertest.TB, id string) { bed.Do(t.(testing.TB), "hold", id) },
		}
	})
}
