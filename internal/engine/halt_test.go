package engine_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// final is a batch system on which no cancelled job can still start or run. before, if set, is called before each
// submission.
type final struct {
	*faulty
	before func()
}

func (f *final) Capabilities() adapters.Capabilities {
	c := f.faulty.Capabilities()
	c.FinalCancel = true
	return c
}

func (f *final) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	f.before()
	return f.faulty.Submit(ctx, b)
}

// A kill is stored while the command runs that submits a bulk of the grid job. The kill is answered only after this
// command has ended and the bulk's jobs are cancelled: then no job of the bulk waits or runs.
func TestKill_WaitsForTheBulkThatIsBeingSubmitted(t *testing.T) {
	t.Parallel()
	var f *final
	clusters := func(w *world) []engine.Cluster {
		f = &final{faulty: w.adapter, before: func() {}}
		return []engine.Cluster{{Kind: "sim", Adapter: f}}
	}
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour, Slots: 3}, clusters: clusters},
		func(t *testing.T, w *world) {
			var began, answered atomic.Bool
			var alive int
			id := make(chan jjm.GridID, 1)
			f.before = func() {
				if began.Swap(true) {
					return
				}
				grid := <-id
				go func() {
					w.engine.Kill(context.Background(), alice, []jjm.Ref{{Grid: grid}}, wire.KillHow{})
					alive = w.aliveInSim()
					answered.Store(true)
				}()
				for {
					if job, err := w.store.Grid(context.Background(), grid); err != nil || job.Kill {
						break
					}
					runtime.Gosched()
				}
				if answered.Load() {
					t.Error("the kill was answered before the submission was over")
				}
			}
			grid := w.submit(alice, mc(20))
			id <- grid
			w.until(time.Hour, "the kill is answered", answered.Load)
			if alive != 0 {
				t.Errorf("%d jobs wait or run when the kill is answered", alive)
			}
			w.final(2*time.Hour, grid)
			w.verify(grid, ends(jjm.Aborted, 20, endsOf(20, jjm.Killed)))
		})
}

// When the answer to a kill or a ban arrives, no killed job waits or runs any longer. All other jobs continue.
func TestKill_NothingIsAliveWhenItIsAnswered(t *testing.T) {
	t.Parallel()
	const dn = "/DC=org/CN=Mallory"
	kill := func(ref jjm.Ref) func(*world) error {
		return func(w *world) error {
			w.engine.Kill(w.t.Context(), bob, []jjm.Ref{ref}, wire.KillHow{})
			return nil
		}
	}
	banned := func(name string) func(*world) error {
		return func(w *world) error {
			_, err := w.engine.Ban(w.t.Context(), admin, &wire.Ban{Name: name, Reason: "x"})
			return err
		}
	}
	for name, test := range map[string]struct {
		do   func(*world) error
		left int
	}{
		"kill":             {kill(jjm.Ref{Grid: 1}), 20},
		"kill of a range":  {kill(jjm.Ref{Grid: 1, Locals: true, First: 5, Last: 14}), 30},
		"ban of a user":    {banned("bob"), 10},
		"ban of a subject": {banned(dn), 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := func(w *world) []engine.Cluster {
				return []engine.Cluster{{Kind: "sim", Adapter: &final{faulty: w.adapter, before: func() {}}}}
			}
			inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour, Slots: 3}, clusters: clusters},
				func(t *testing.T, w *world) {
					req := wire.Submit{Name: "j.toml", Text: mc(20), BaseDir: w.dir, Origin: &jjm.Origin{Subject: dn}}
					_, err := w.engine.Submit(t.Context(), bob, req)
					w.must(err)
					w.submit(bob, mc(10))
					w.submit(alice, mc(10))
					w.until(time.Hour, "the cluster has all", func() bool { return w.aliveInSim() == 40 })
					w.must(test.do(w))
					if n := w.aliveInSim(); n != test.left {
						t.Errorf("%d jobs wait or run when it is answered, want the %d of others", n, test.left)
					}
				})
		})
	}
}

// aliveInSim returns how many jobs wait or run in the simulated batch system.
func (w *world) aliveInSim() (n int) {
	for _, who := range []wire.Caller{alice, bob} {
		l, err := w.sim.List(context.Background(), jjm.Owner{UID: who.UID}, time.Time{})
		if err != nil {
			return -1
		}
		for _, r := range l.Reports {
			if r.State.Alive() {
				n++
			}
		}
	}
	return n
}
