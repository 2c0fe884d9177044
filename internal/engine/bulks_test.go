package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// bulkBook records the bulks that are submitted.
type bulkBook struct {
	mu    sync.Mutex
	bulks []adapters.Bulk
}

func (b *bulkBook) note(bulk adapters.Bulk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bulks = append(b.bulks, bulk)
}

// grids returns, for each recorded bulk, the number of its jobs by grid job.
func (w *world) grids(book *bulkBook) []map[jjm.GridID]int {
	w.t.Helper()
	book.mu.Lock()
	defer book.mu.Unlock()
	var out []map[jjm.GridID]int
	for _, b := range book.bulks {
		m := map[jjm.GridID]int{}
		for i := range b.N {
			a, err := w.area(b.Owner).ReadAssignment(b.Tag, int32(i))
			w.must(err)
			m[a.Grid]++
		}
		out = append(out, m)
	}
	return out
}

func TestBulks_FormAcrossGridJobsOfOneOwnerAndShapeOnly(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		book := &bulkBook{}
		w.adapter.onSubmit.set(book.note)
		w.sim.Down(time.Minute) // so that all grid jobs are accepted before the first bulk is formed
		first := w.submit(alice, mc(1))
		w.pass(time.Second)
		a := w.submit(alice, mc(3))
		b := w.submit(alice, mc(4))
		shaped := w.submit(alice, mc(2, "[request]", "cores = 2"))
		other := w.submit(bob, mc(2))
		w.pass(10 * time.Minute)
		for _, bulk := range w.grids(book) {
			_, hasShaped := bulk[shaped]
			_, hasOther := bulk[other]
			if (hasShaped || hasOther) && len(bulk) > 1 {
				t.Errorf("a bulk across owners or shapes: %v", bulk)
			}
		}
		for i, bulk := range book.bulks {
			want := alice
			if w.grids(book)[i][other] > 0 {
				want = bob
			}
			if bulk.Owner != owner(want) {
				t.Errorf("a bulk of %v belongs to %s", w.grids(book)[i], bulk.Owner.User)
			}
		}
		w.final(3*time.Hour, first, a, b, shaped, other)
		for id, n := range map[jjm.GridID]int{first: 1, a: 3, b: 4, shaped: 2, other: 2} {
			w.verify(id, done(n))
		}
		w.verifyQuiet()
	})
}

func TestBulks_OfWaitingGridJobsAreJoined(t *testing.T) {
	t.Parallel()
	limit := func(c *engineConfig) { c.MaxPending = 2 }
	inWorld(t, options{sim: adaptertest.SimConfig{Wait: time.Minute, Life: time.Hour}, config: limit},
		func(t *testing.T, w *world) {
			book := &bulkBook{}
			w.adapter.onSubmit.set(book.note)
			first := w.submit(alice, mc(2)) // fills the queue up to MaxPending for a minute
			w.pass(time.Second)
			a, b := w.submit(alice, mc(1)), w.submit(alice, mc(1))
			w.pass(30 * time.Minute)
			want := []map[jjm.GridID]int{{first: 2}, {a: 1, b: 1}}
			if got := w.grids(book); !slices.EqualFunc(got, want, maps.Equal[map[jjm.GridID]int, map[jjm.GridID]int]) {
				t.Errorf("bulks %v, want %v", got, want)
			}
			w.final(3*time.Hour, first, a, b)
			w.verifyQuiet()
		})
}

func TestBulks_KeepTheLimits(t *testing.T) {
	t.Parallel()
	failing := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Attempt == 0 && id.N%4 == 0 {
			return adaptertest.Play{Keyword: "RETRY", Data: "x"}
		}
		return adaptertest.Play{}
	}
	limit := func(c *engineConfig) { c.MaxPending = 30 }
	sim := adaptertest.SimConfig{MaxBulk: 7, Slots: 10, Life: time.Minute}
	inWorld(t, options{sim: sim, config: limit, play: failing}, func(t *testing.T, w *world) {
		w.adapter.onSubmit.set(func(b adapters.Bulk) {
			if b.N > 7 {
				t.Errorf("a bulk of %d", b.N)
			}
		})
		id := w.submit(alice, mc(200))
		most := 0
		for range 60 * 60 {
			w.pass(time.Second)
			l, err := w.sim.List(context.Background(), owner(alice), time.Time{})
			w.must(err)
			n := 0
			for _, r := range l.Reports {
				if r.State.Alive() && r.State != jjm.BatchRunning {
					n++
				}
			}
			most = max(most, n)
			if w.archived(id) {
				break
			}
		}
		if most > 30 || most < 20 {
			t.Errorf("up to %d local jobs waited in the batch system, want at most 30, and not far less", most)
		}
		w.verify(id, done(200))
		w.verifyQuiet()
	})
}

func TestFairness_ASmallGridJobIsNotStarvedByALargeOne(t *testing.T) {
	t.Parallel()
	limit := func(c *engineConfig) { c.MaxPending = 50 }
	sim := adaptertest.SimConfig{Slots: 25, Life: 10 * time.Minute}
	for name, small := range map[string]struct {
		caller callerOf
		text   string
	}{
		"of the same owner":     {alice, mc(10)},
		"of another shape":      {alice, mc(10, "[request]", "cores = 2")},
		"of another owner":      {bob, mc(10)},
		"of another type":       {alice, plain(10)},
		"of one job only":       {alice, mc(1)},
		"of more than the room": {bob, mc(75)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, options{sim: sim, config: limit, bare: true}, func(t *testing.T, w *world) {
				large := w.submit(alice, mc(750)) // 5 hours of work
				w.pass(15 * time.Minute)
				id := w.submit(small.caller, small.text)
				started := time.Now()
				// The 50 jobs before the small job take 20 minutes; then the small job gets its share of the slots.
				w.until(3*time.Hour, "done beside the large one", func() bool { return w.lookup(id).Status == "done" })
				t.Logf("done after %v", time.Since(started))
				if c := w.lookup(large).Counts; c.Completed > 600 {
					t.Errorf("the large one is as good as over: %+v", c)
				}
			})
		})
	}
}

func TestBulks_PositionAndAssignmentAgreeForRetries(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Attempt < id.N%3 {
			return adaptertest.Play{Keyword: "RETRY", Data: `one "two words"`}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var got []sandbox.Assignment
		w.adapter.onSubmit.set(func(b adapters.Bulk) {
			mu.Lock()
			defer mu.Unlock()
			for i := range b.N {
				a, err := w.area(b.Owner).ReadAssignment(b.Tag, int32(i))
				if err != nil {
					t.Error(err)
				}
				got = append(got, a)
			}
		})
		id := w.submit(alice, mc(6))
		w.final(time.Hour, id)
		w.verify(id, done(6))
		w.verifyQuiet()
		locals := w.locals(id)
		for _, a := range got {
			if a.Part.First != locals[a.Local].Part.First || a.Part.Count != 10 {
				t.Errorf("attempt %d of local job %d is given %+v", a.Attempt, a.Local, a.Part)
			}
			if want := a.Attempt > 0; want != slices.Equal(a.RetryArgs, []string{"one", "two words"}) {
				t.Errorf("attempt %d of local job %d is given retry arguments %q", a.Attempt, a.Local, a.RetryArgs)
			}
		}
		if len(got) != 6+2+2+2 {
			t.Errorf("%d attempts, want 12", len(got))
		}
	})
}

// A local job whose list of files alone exceeds the largest size of an assignment fails, with the reason. The other
// local jobs of its bulk are submitted.
func TestSubmit_AnAssignmentThatIsTooLongFailsByItself(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		long := strings.Repeat("x", 3000)
		var files []jjm.File
		for i := range 1600 {
			files = append(files, jjm.File{LFN: fmt.Sprintf("/data/%s/%04d", long, i), Group: "many"})
		}
		for _, some := range [][]jjm.File{files[:800], files[800:], {{LFN: "/data/one", Group: "few"}}} {
			_, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: some})
			w.must(err)
		}
		w.closeDataset(alice, "raw")
		id := w.submit(alice, fileJob("", "name = \"raw\"\n[split]\nby = \"FileBased\"\nparams = {files_per_job = 1600}\n"))
		w.final(time.Hour, id)
		failed, completed := 0, 0
		for _, l := range w.locals(id) {
			switch l.State {
			case jjm.Completed:
				completed++
			case jjm.Failed:
				if failed++; l.Phase != jjm.CreateFailed || !strings.Contains(l.Message, "4194304 bytes") {
					t.Errorf("%s is %s: %s", l.ID, jjm.StateWord(l.State, l.Phase), l.Message)
				}
			}
		}
		if failed != 1 || completed != 1 {
			t.Errorf("%d failed and %d completed: %+v", failed, completed, w.lookup(id))
		}
	})
}
