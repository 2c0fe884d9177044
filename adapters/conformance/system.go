package conformance

import (
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Partial is implemented by adapters whose listings lack some facts. Checks about such a fact do not apply; other
// checks do not compare it.
type Partial interface {
	// Unlisted returns those of the facts host, submitted, started, ended, exit and signal
	// that are never in a listing.
	Unlisted() []string
}

// System is a batch system that is tested. A check that needs a field which is left out
// must be declared in NotHere, with the reason.
type System struct {
	// Adapter is tested. If it is a Runner the suite runs it. If it is a Prober the suite
	// lets it probe first, unless Probed is set: an adapter that runs nothing in the
	// background may serve several checks.
	Adapter adapters.Adapter
	Probed  bool
	// Owner is the account whose jobs are submitted.
	Owner jjm.Owner
	// Other is a second owner whose jobs the adapter can submit; nil if there is none.
	Other *jjm.Owner
	// Dir is an absolute folder, empty at first, that jobs of Owner can write and the test
	// can read.
	Dir string
	// Request is what every job asks for unless its check needs more.
	Request jjm.Request
	// Patience is how long a short job may take from its submission to its end in the
	// listing; 0 means 30 s.
	Patience time.Duration
	// Parallel allows checks that are not Alone to run at the same time. open is then
	// called from several goroutines.
	Parallel bool
	// Jobs is how many jobs a check of many jobs may start; 0 means 200.
	Jobs int
	// AllExits tries each exit code from 0 to 255, with a job each; without it only a few
	// are tried.
	AllExits bool

	// Walltime is the shortest limit that the batch system enforces; 0 if there is none.
	Walltime time.Duration
	// MemoryMB is a limit in MiB that the batch system enforces on a job that asks for it; the check uses four times as
	// much. NoOOM is set where the state does not distinguish that kill from other failures: FAILED or ABORTED are then
	// accepted if the reason mentions memory.
	MemoryMB int64
	NoOOM    bool
	// ForgetsCancelled is set where a job that is cancelled before its start leaves no
	// trace (Grid Engine: qacct has no record of it).
	ForgetsCancelled bool
	// ReservedExits are exit codes that the batch system keeps for itself (Grid Engine: 99
	// asks for a rerun, 100 puts the job into error state), or with which it reports
	// signals.
	ReservedExits []int
	// Pause is how long to wait between two listings; 0 means 20 ms, or 500 ms where
	// Commands are run, because twelve checks at once would otherwise keep the machine busy
	// with listings. A Watcher may cut the pause short.
	Pause time.Duration

	// Requeue makes the batch system run a running job again.
	Requeue func(t TB, id string)
	// KillNode takes away the node that runs a job, and brings it back when the check ends.
	KillNode func(t TB, host string)
	// SystemHold holds a waiting job as the batch system or an operator does, so that the
	// owner sees a reason.
	SystemHold func(t TB, id string)
	// LoseHistory makes the batch system forget a job that has ended.
	LoseHistory func(t TB, id string)

	// Bin is the folder of the real commands. Commands are the names of all commands that the adapter runs. Submits is
	// the command that submits jobs: in checks of a faulty submission only that command is faulty. If Submits is "",
	// any command may submit.
	Bin      string
	Commands []string
	Submits  string
	// WithBin makes the same adapter with its commands taken from another folder.
	WithBin func(t TB, bin string) adapters.Adapter
	// EmptyIsNone is set where a command that printed nothing and exited with 0 may mean
	// that there are no jobs (condor_q).
	EmptyIsNone bool

	// NotHere maps names of checks to the reason why each does not apply to this system. It is a failure if NotHere
	// names a check that could pass or that does not exist.
	NotHere map[string]string

	// Site is set by "jjm clusters test"; nil in tests of adapters.
	Site *Site
}
