package conformance

import (
	"time"

	"jjm"
	"jjm/adapters"
)

// System is a batch system under test. A check that needs what is left out here
// must be declared in NotHere, with the reason.
type System struct {
	// Adapter is the one to test. If it is a Runner the suite runs it, if it is
	// a Prober the suite lets it probe first, unless Probed says that it has: an
	// adapter that runs nothing of its own may serve several checks.
	Adapter adapters.Adapter
	Probed  bool
	// Owner is as whom jobs are submitted.
	Owner jjm.Owner
	// Other is a second owner whose jobs the adapter can submit; nil if there
	// is none.
	Other *jjm.Owner
	// Dir is an absolute folder, empty at first, that jobs of Owner can write
	// and the test can read.
	Dir string
	// Request is what every job asks for unless its check needs more.
	Request jjm.Request
	// Patience is how long a short job may take from submission to its end in
	// the listing; 0 means 30 s.
	Patience time.Duration
	// Parallel lets checks that need not be alone run at the same time. open is
	// then called from several goroutines.
	Parallel bool
	// Jobs is how many jobs a check of many may start; 0 means 200.
	Jobs int
	// AllExits tries each exit code from 0 to 255, with a job each; without it a
	// few are tried.
	AllExits bool

	// Walltime is the shortest limit that the batch system enforces; 0 leaves
	// the test of it out.
	Walltime time.Duration
	// MemoryMB is a limit in MiB that the batch system enforces on a job that
	// asks for it; the check uses four times as much. NoOOM is set where the
	// kill cannot be told from another failure by the state: FAILED or ABORTED
	// will do then, if the reason speaks of memory.
	MemoryMB int64
	NoOOM    bool
	// ForgetsCancelled is set where a job that is cancelled before its start
	// leaves no trace (Grid Engine: qacct has no record of it).
	ForgetsCancelled bool
	// ReservedExits are exit codes that the batch system keeps for itself (Grid
	// Engine: 99 asks for a rerun, 100 puts the job into error), or by which it
	// tells signals.
	ReservedExits []int
	// Pause is how long to wait between two listings; 0 means 20 ms, 500 ms
	// where Commands are run: twelve checks at once would do little else. A
	// Watcher may cut it short.
	Pause time.Duration

	// Requeue lets the batch system run a running job again.
	Requeue func(t TB, id string)
	// KillNode takes away the node that runs a job, and gives it back when the
	// check ends.
	KillNode func(t TB, host string)
	// SystemHold holds a waiting job as the batch system or an operator does,
	// so that the owner sees a reason.
	SystemHold func(t TB, id string)
	// LoseHistory lets the batch system forget a job that has ended.
	LoseHistory func(t TB, id string)

	// Bin is the folder of the real commands, and Commands are the names of all
	// that the adapter runs. Submits is the one that submits: the faults of a
	// submission are then its own, and other commands work meanwhile; "" means
	// that any may submit.
	Bin      string
	Commands []string
	Submits  string
	// WithBin makes the same adapter with its commands taken from another
	// folder.
	WithBin func(t TB, bin string) adapters.Adapter
	// EmptyIsNone is set where a command that printed nothing and ended with 0
	// may mean that there are no jobs (condor_q).
	EmptyIsNone bool

	// NotHere gives, by the names of checks, why each does not apply to this
	// system. A test of an adapter lists them; a check that is named and could
	// pass, or that is not there, is a failure.
	NotHere map[string]string

	// Site is set by "jjm clusters test"; nil in tests of adapters.
	Site *Site
}
