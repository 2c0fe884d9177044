package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// set changes local jobs as alice: their resources, cluster or priority.
func (w *world) set(how wire.SetHow, refs ...string) wire.Changed {
	w.t.Helper()
	var parsed []jjm.Ref
	for _, text := range refs {
		ref, err := jjm.ParseRef(text)
		w.must(err)
		parsed = append(parsed, ref)
	}
	return w.engine.Set(context.Background(), alice, parsed, how)[0]
}

// memory returns a change to an amount of memory.
func memory(mb int64) wire.SetHow { return wire.SetHow{Resources: &jjm.Resources{MemoryMB: mb}} }

// living returns a play in which each attempt runs for d.
func living(d time.Duration) func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
	return func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play { return adaptertest.Play{Life: d} }
}

// setScenario returns a scenario that sets the memory of local jobs that wait for their first submission; it sets the
// memory of local jobs 5 to 7 twice. These fail unless they request the memory that was set last.
func setScenario() scenario {
	set := func(how wire.SetHow, rest string) func(*stage) error {
		return func(s *stage) error { return s.set(how, s.ids["a"].String()+rest).Error.Err() }
	}
	return scenario{
		sim:    adaptertest.SimConfig{MaxBulk: 3, Slots: 2, Life: 20 * time.Minute},
		play:   failsWithout(700, 5, 6, 7),
		config: func(c *engineConfig) { c.MaxPending = 2 },
		only:   []string{"set-resources", "submit"},
		actions: []action{
			{0, submitAs("a", mc(8))},
			{70 * time.Second, set(memory(600), "")},
			{80 * time.Second, set(memory(700), ".5-7")},
		},
		wants: map[string]want{"a": done(8)},
		also: func(s *stage) {
			for n := range int32(3) {
				if a := s.askedFor(s.ids["a"], 5+n); a == nil || a.MemoryMB != 700 {
					s.t.Errorf("local job %d requests %+v", 5+n, a)
				}
			}
		},
	}
}

// Local jobs that wait get the resources that are set. Local jobs that are in the batch system or over do not change.
func TestSet_WaitingLocalJobs(t *testing.T) {
	t.Parallel()
	seen := requests{t: t}
	o := options{sim: adaptertest.SimConfig{Slots: 2, MaxMemoryMB: 4000}, play: seen.noting(living(10 * time.Minute))}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(5))
		w.pass(3 * time.Minute)
		w.hold(alice, "1.3-4", wire.HoldHow{})
		w.pass(3 * time.Minute)
		r := w.engine.Set(t.Context(), bob, []jjm.Ref{{Grid: id}}, memory(700))[0]
		if jjm.KindOf(r.Error.Err()) != jjm.Denied {
			t.Errorf("bob sets: %+v", r)
		}
		if r := w.set(memory(9000), "1"); jjm.KindOf(r.Error.Err()) != jjm.Invalid {
			t.Errorf("more than any cluster has: %+v", r)
		}
		if r := w.set(memory(700), "1.0"); jjm.KindOf(r.Error.Err()) != jjm.Conflict {
			t.Errorf("only what runs: %+v", r)
		}
		want := wire.Changed{ID: id, Jobs: 2, Left: []wire.Left{
			{Local: "1.0", Why: "it runs with what it requested: kill it (jjm kill 1.0), then jjm resubmit changes it"},
			{Local: "1.1", Why: "it runs with what it requested: kill it (jjm kill 1.1), then jjm resubmit changes it"},
			{Local: "1.2", Why: "it is submitted/queued with what it requested: take it back first (jjm hold 1.2), " +
				"or kill it and resubmit it"}}}
		dry := memory(700)
		dry.DryRun = true
		for _, how := range []wire.SetHow{dry, memory(700)} {
			if diff := cmp.Diff(want, w.set(how, "1")); diff != "" {
				t.Errorf("alice sets what waits, dry run %v: -want +got\n%s", how.DryRun, diff)
			}
		}
		w.reopen()
		w.release(alice, "1")
		w.final(3*time.Hour, id)
		w.verify(id, done(5))
		seen.want(id, 2, 0, jjm.Request{})
		seen.want(id, 3, 1, jjm.Request{MemoryMB: 700})
		seen.want(id, 4, 1, jjm.Request{MemoryMB: 700})
		if r := w.set(memory(700), "1"); jjm.KindOf(r.Error.Err()) != jjm.Conflict {
			t.Errorf("what is over: %+v", r)
		}
		w.verifyQuiet()
	})
}

// A change of a whole grid job also concerns the local jobs that are made later. A later change replaces only the
// values that it contains.
func TestSet_LocalJobsStillToBeMade(t *testing.T) {
	t.Parallel()
	seen := requests{t: t}
	o := options{sim: adaptertest.SimConfig{Slots: 8}, play: seen.noting(living(time.Minute))}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("result = \"glf\"\n", "name = \"raw\"\nopen = true\n"+inline(5)))
		w.until(time.Hour, "what is there is done", func() bool {
			c := w.lookup(id).Counts
			return c.Completed > 0 && c.Completed == len(w.locals(id))
		})
		made := int32(len(w.locals(id)))
		if r := w.set(memory(700), id.String()); r.Error != nil || r.Jobs != 0 || !r.Later || r.NoChange {
			t.Fatalf("%+v", r)
		}
		hour := jjm.Duration(time.Hour)
		if r := w.set(wire.SetHow{Resources: &jjm.Resources{Walltime: hour}}, id.String()); r.Error != nil || !r.Later {
			t.Fatalf("%+v", r)
		}
		w.reopen()
		w.must(w.put("raw", "", 5, 9))
		w.must(func() error {
			_, err := w.engine.Dataset(t.Context(), alice, wire.Dataset{Do: wire.DatasetClose, Name: "raw"})
			return err
		}())
		w.final(5*time.Hour, id)
		locals := w.locals(id)
		if int32(len(locals)) == made {
			t.Fatal("no local job was made after the set")
		}
		for _, l := range locals {
			want := jjm.Request{}
			if l.ID.N >= made {
				want = jjm.Request{MemoryMB: 700, Walltime: hour}
			}
			seen.want(id, l.ID.N, 0, want)
		}
		w.verifyQuiet()
	})
}

// Local jobs that merge outputs get the values that were set for the grid job before they were made.
func TestSet_LocalJobsThatMerge(t *testing.T) {
	t.Parallel()
	seen := requests{t: t}
	limited := func(c *engineConfig) { c.MaxPending = 2 }
	o := options{config: limited, sim: adaptertest.SimConfig{Slots: 2}, play: seen.noting(living(10 * time.Minute))}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(8)+mergeTwo))
		w.until(time.Hour, "two run", func() bool { return w.lookup(id).Counts.Running == 2 })
		if r := w.set(memory(700), id.String()); r.Error != nil || !r.Later {
			t.Fatalf("%+v", r)
		}
		w.final(5*time.Hour, id)
		w.verify(id, done(6))
		merges := 0
		for _, l := range w.locals(id) {
			if l.Step == jjm.StepMerge {
				merges++
				seen.want(id, l.ID.N, 0, jjm.Request{MemoryMB: 700})
			}
		}
		if merges != 2 {
			t.Errorf("%d local jobs merge", merges)
		}
		w.verifyQuiet()
	})
}

// While a bulk is being formed, one of its local jobs is set to another cluster. The bulk is dropped.
func TestSet_WhileABulkIsFormed(t *testing.T) {
	t.Parallel()
	c := &crasher{}
	o := options{sim: adaptertest.SimConfig{Slots: 4}, more: []adaptertest.SimConfig{{Name: "other", Slots: 4}}, crash: c}
	inWorld(t, o, func(t *testing.T, w *world) {
		var once sync.Once
		c.on = func(point string) {
			if point == "submit.assigned" {
				once.Do(func() {
					how := wire.SetHow{Resources: &jjm.Resources{Cluster: "other"}}
					if r := w.set(how, "1"); r.Error != nil || r.Jobs != 4 {
						t.Errorf("%+v", r)
					}
				})
			}
		}
		id := w.submit(alice, mc(4, "clusters = [\"sim\", \"other\"]"))
		w.final(2*time.Hour, id)
		w.verify(id, done(4))
		for _, l := range w.locals(id) {
			if l.Cluster != "other" || l.Attempt != 0 {
				t.Errorf("%s: attempt %d on %s", l.ID, l.Attempt, l.Cluster)
			}
		}
		w.verifyQuiet()
	})
}

// Waiting local jobs with a higher priority are submitted first.
func TestSet_PriorityOrdersWaitingLocalJobs(t *testing.T) {
	t.Parallel()
	limited := func(c *engineConfig) { c.MaxPending = 1 }
	o := options{config: limited, sim: adaptertest.SimConfig{Slots: 1, MaxBulk: 1}, play: living(10 * time.Minute)}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		w.until(time.Hour, "one runs", func() bool { return w.lookup(id).Counts.Running == 1 })
		five := 5
		if r := w.set(wire.SetHow{Priority: &five}, "1.4-5"); r.Error != nil || r.Jobs != 2 {
			t.Fatalf("%+v", r)
		}
		w.final(20*time.Hour, id)
		w.verify(id, done(6))
		ls := w.locals(id)
		for _, l := range ls[4:] {
			if l.Submitted > ls[2].Submitted || l.Submitted > ls[3].Submitted {
				t.Errorf("%s was submitted at %s, after local jobs of a smaller priority", l.ID, l.Submitted)
			}
		}
		w.verifyQuiet()
	})
}
