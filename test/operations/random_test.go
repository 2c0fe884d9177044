package operations_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
	"jjm/internal/testkit/testbed"
)

// size is the size of a run: the numbers of grid jobs, of local jobs in each, of operations, and of kills of the
// daemon.
type size struct {
	jobs, locals, operations, kills int
	long                            string // seconds that a slow local job takes
}

// short is the size of the run in "make test".
var short = size{jobs: 8, locals: 4, operations: 70, kills: 2, long: "3"}

// whole is the size of the run in the campaign.
var whole = size{jobs: 50, locals: 6, operations: 500, kills: 15, long: "4"}

// embedded is a cluster with fewer slots than local jobs, so that local jobs wait.
const embedded = "[[cluster]]\nname = \"local\"\nkind = \"local\"\nslots = 4\ngrace = \"3s\"\n"

// seedOf returns the seed that JJM_SEED names, or else the given one, and logs how to repeat the run.
func seedOf(t *testing.T, seed uint64) uint64 {
	t.Helper()
	if text := os.Getenv("JJM_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("JJM_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("to repeat: JJM_TIER=%s JJM_SEED=%d go test ./test/operations -run '^%s$'", needs.Operations, seed, t.Name())
	return seed
}

// TestOperations_AtRandom runs a small number of operations, drawn with the same seed each time. What they
// meet differs from run to run, because the jobs go on meanwhile.
func TestOperations_AtRandom(t *testing.T) {
	people := []site.Person{site.Account(t), site.Account(t), site.Account(t)}
	w := newWorld(t, seedOf(t, 1), embedded, people)
	w.play(short)
}

// newSeed returns a seed that differs from run to run.
func newSeed() uint64 { return uint64(time.Now().UnixNano()) % 1_000_000 }

// TestOperations_OnFiftyGridJobs runs the campaign on the embedded batch system.
func TestOperations_OnFiftyGridJobs(t *testing.T) {
	needs.Campaign(t, needs.Operations)
	needs.NoSystem(t)
	people := []site.Person{site.Account(t), site.Account(t), site.Account(t)}
	w := newWorld(t, seedOf(t, newSeed()), embedded, people)
	w.play(whole)
}

// onSlurm is the part of the configuration for Slurm without the wait for its last word about an ended job, which takes
// up to 12 s.
const onSlurm = "batch_settle = \"2s\"\n"

// TestBeds_OperationsOnFiftyGridJobs is the campaign on Slurm.
func TestBeds_OperationsOnFiftyGridJobs(t *testing.T) {
	needs.Campaign(t, needs.Operations)
	bed := testbed.Start(t, "slurm")
	people := []site.Person{site.Account(t), site.Account(t), site.Account(t)}
	site.KnownToSlurm(t, bed, people...)
	w := newWorld(t, seedOf(t, newSeed()), site.OnBed(bed, "slurm")+onSlurm, people)
	w.play(whole)
}

// play submits the grid jobs, operates on them while it kills the daemon, and checks how all of it ends.
func (w *world) play(n size) {
	w.t.Helper()
	w.jobs = make([]*job, 0, n.jobs+n.jobs/2) // the rest is room for copies and recoveries
	for i := range n.jobs {
		w.submit(w.people[i%len(w.people)], i%2 == 0, n.locals, n.long)
	}
	w.operations(n)
	w.settle()
	w.removeSome()
	w.ask()
	w.verify()
	w.nothingLeft()
	w.t.Logf("%d grid jobs, %d kills, %d final answers\n%s", len(w.jobs), w.kills, len(w.told), w.seen)
}

// operations carries out random operations on the grid jobs. The daemon is killed during some of them.
func (w *world) operations(n size) {
	w.t.Helper()
	deaths := map[int]bool{}
	for len(deaths) < n.kills {
		deaths[w.r.IntN(n.operations)] = true
	}
	for i := range n.operations {
		before := w.kills
		w.operate(deaths[i])
		if deaths[i] && w.kills == before { // the operation was impossible
			w.kill()
			w.Start()
		}
		w.ask()
	}
}
