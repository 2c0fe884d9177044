package pbs

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

var commandNames = []string{"qsub", "qalter", "qstat", "qselect", "qdel", "qhold", "qrls", "pbsnodes"}

// The suite runs on the fake or, with the flag -real, on the PBS on the PATH.
func TestConformance_OpenPBS(t *testing.T) {
	t.Parallel()
	// WAIT makes the scheduler of the fake start a job only 200 ms after the job may run, so that it can be cancelled
	// meanwhile.
	open := func(t *testing.T) adaptertest.System { return onFake(t, "WAIT=200ms") }
	if *realPBS {
		open = onReal
	}
	adaptertest.RunOnFake(t, open)
}

// TestConformance_OpenPBSInItsMoods runs the suite with each set of settings of the fake (a mood) with which every
// method succeeds (docs/PBS.md, The fake).
func TestConformance_OpenPBSInItsMoods(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	for _, mood := range []string{"FAULTS=one-id", "FAULTS=qdel-crash", "FAULTS=qalter-denied", "PORTS=512",
		"PORTS=512 FAULTS=ports-quiet"} {
		t.Run(mood, func(t *testing.T) {
			t.Parallel()
			adaptertest.RunOnFake(t, func(t *testing.T) adaptertest.System {
				return onFake(t, append(strings.Fields(mood), "WAIT=200ms")...)
			})
		})
	}
}

// TestConformance_OpenPBSThatForgetsEnds runs the suite in the moods in which a job vanishes at its end. The checks
// that wait for the report of an end must fail; the other checks must pass.
func TestConformance_OpenPBSThatForgetsEnds(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	for mood, more := range map[string][]string{"HISTORY=off": nil, "FAULTS=lost-history": needEndsOfCommands} {
		t.Run(mood, func(t *testing.T) {
			t.Parallel()
			adaptertest.RunOnFake(t, func(t *testing.T) adaptertest.System {
				s := onFake(t, mood, "WAIT=200ms")
				for _, check := range slices.Concat(needEnds, more) {
					s.NotHere[check] = "the check waits for the report of an end, and ended jobs are forgotten"
					if strings.HasSuffix(t.Name(), "/"+strings.ReplaceAll(check, " ", "_")) {
						s.Patience = await.Provoked(8 * time.Second)
					}
				}
				return s
			})
		})
	}
}

// needEnds are the checks that wait for the report of an end.
var needEnds = []string{
	"a banner on standard output does no harm", "a held bulk never runs before its release",
	"a hundred jobs in a bulk", "a job that history forgot is left out", "a listing carries everything",
	"a recycled id is another's", "a running job can be cancelled, twice", "a thousand ids in one call",
	"a waiting job can be cancelled", "all methods may be called at once",
	"an ended job can be cancelled without change", "every exit code comes back",
	"hostile text is refused or passes unchanged", "ids of many bulks are answered",
	"jobs know who they are", "jobs under a second are not missed", "known and unknown tags are found",
	"listings are whole while jobs run", "listings are whole while jobs start and end",
	"odd names pass unchanged", "one job of a bulk can be cancelled", "signals are told from exit codes",
	"since hides what ended before", "the environment of the daemon changes nothing",
	"the log has what jobs print", "the memory limit is enforced", "the walltime limit is enforced",
	"two bulks of one tag are both found", "two cancels at once", "unknown ids are no trouble",
}

// needEndsOfCommands are further checks that wait for the report of an end. They wait only if the adapter believes that
// the server keeps a history.
var needEndsOfCommands = []string{
	"a banner on standard error does no harm", "a command killed midway is no answer",
	"a command that acts and hangs is given up", "a command that hangs is given up",
	"a cut output is no answer", "a failure with a good output is a failure", "a missing command is named",
	"a refused connection is trouble", "a reply that is lost is doubtful", "an empty output is no answer",
	"garbage is no answer",
}

// holdCheck is a check that does not apply to OpenPBS; openPBSHold is the reason (see TestHold).
const (
	holdCheck   = "a held job waits for its release"
	openPBSHold = "OpenPBS holds no single members of an array"
)

// onFake starts a complex of the fake PBS for one check, and returns it with all the features that the suite can
// use.
func onFake(t *testing.T, settings ...string) adaptertest.System {
	b := newBed(t, settings...)
	b.pace = quickPace()
	s := adaptertest.System{
		Adapter: b.adapter(), Owner: b.owner, Dir: t.TempDir(), Parallel: true,
		AllExits: true, Other: &jjm.Owner{UID: 65534, GID: 65534, User: "nobody"},
		Walltime: time.Second, MemoryMB: 48, Patience: await.Guard(6 * time.Minute), // long enough for a busy machine
		Bin: b.bin, Commands: commandNames, Submits: "qsub",
		WithBin: func(_ adaptertest.TB, bin string) adapters.Adapter {
			return b.adapter(func(c *Config) { c.Bin = bin })
		},
		Requeue:     func(adaptertest.TB, string) { b.fault("rerun", true); b.do("qstat") },
		SystemHold:  func(_ adaptertest.TB, id string) { b.as("root", "qhold", "-h", "s", id) },
		LoseHistory: func(_ adaptertest.TB, id string) { b.do("qdel", "-x", id) },
		NotHere: map[string]string{
			"a lost node is reported": "the fake has one node; its rerun is what a lost MOM leads to",
			holdCheck:                 openPBSHold,
		},
	}
	return s
}

// quickPace returns a clock for the ports that runs ten times as fast as the time of day. The suite then waits for the
// budget of ports as on a real system, but only a tenth as long. The host has as many ports as the suite may need.
func quickPace() *pace {
	const factor = 10
	began := time.Now()
	return &pace{
		now: func() time.Time { return began.Add(factor * time.Since(began)) },
		pause: func(ctx context.Context, d time.Duration) error {
			return pauseFor(ctx, max(d/factor, time.Millisecond))
		},
	}
}

// onReal uses the PBS on the PATH as the account that runs the test. It must keep history,
// and its nodes must see the account's home folder.
func onReal(t *testing.T) adaptertest.System {
	bin := folderOf(t, "qsub")
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(home, "jjm-conformance-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	on := func(bin string) *Adapter { return makeAdapter(t, func(c *Config) { c.Bin = bin }) }
	return adaptertest.System{
		Adapter: on(bin), Owner: self(t), Dir: dir, Patience: await.Guard(6 * time.Minute), Parallel: true, AllExits: true,
		NotHere: map[string]string{
			holdCheck:                                openPBSHold,
			"the jobs of two owners are kept apart":  "the test runs as one account",
			"the memory limit is enforced":           "$enforce mem is off by default",
			"a rerun is counted":                     "qrerun is the operator's",
			"a lost node is reported":                "the node is the site's",
			"a hold by the batch system is reported": "a system hold is the operator's",
			"a job that history forgot is left out":  "history is the operator's",
		},
		Walltime: 5 * time.Second, Bin: bin, Commands: commandNames, Submits: "qsub",
		WithBin: func(_ adaptertest.TB, bin string) adapters.Adapter { return on(bin) },
	}
}

// folderOf returns the folder of a command on the PATH.
func folderOf(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode()&0o111 != 0 {
			return dir
		}
	}
	t.Fatalf("no %s on the PATH", name)
	return ""
}
