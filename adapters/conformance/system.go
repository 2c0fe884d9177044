package conformance

import (
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Partial is implemented by adapters whose listings lack some facts. Checks of such a fact do not apply, and other
// checks do not compare it.
type Partial interface {
	// Unlisted returns the facts that are never in a listing. Possible facts are host, submitted, started, ended, exit
	// and signal.
	Unlisted() []string
}

// System is a batch system under test. If a field is left out, each check that needs the field must be declared in
// NotHere, with the reason.
type System struct {
	// Adapter is the adapter under test. If it is a Runner, the suite runs it. If it is a Prober, the suite first lets
	// it probe, unless Probed is set: an adapter that runs nothing in the background may serve several checks.
	Adapter adapters.Adapter
	Probed  bool
	// Owner is the account whose jobs are submitted.
	Owner jjm.Owner
	// Other is a second owner whose jobs the adapter can submit; nil if there is none.
	Other *jjm.Owner
	// Dir is an absolute folder, empty at first, that jobs of Owner can write and the test
	// can read.
	Dir string
	// Request is the request of every job, unless its check needs more resources.
	Request jjm.Request
	// Patience is the longest time that a short job may take from its submission to its end in the listing; 0 means 30
	// s.
	Patience time.Duration
	// Parallel allows checks that are not Alone to run at the same time. The function that opens a System is then
	// called from several goroutines.
	Parallel bool
	// Jobs is the largest number of jobs that a check of many jobs may start; 0 means 200.
	Jobs int
	// AllExits makes the suite test each exit code from 0 to 255, with a job for each code; otherwise it tests only a
	// few codes.
	AllExits bool

	// Walltime is the shortest walltime limit that the batch system enforces; 0 if it enforces none.
	Walltime time.Duration
	// MemoryMB is a limit in MiB that the batch system enforces on a job that requests it; the check uses four times as
	// much. NoOOM is set if the state does not distinguish such a kill from other failures: FAILED or ABORTED are then
	// accepted if the reason mentions memory.
	MemoryMB int64
	NoOOM    bool
	// ForgetsCancelled is set if the batch system keeps no record of a job that is cancelled before its start (Grid
	// Engine: qacct does not find the job).
	ForgetsCancelled bool
	// ReservedExits are exit codes that have a special meaning in the batch system (Grid Engine: 99 requests a rerun,
	// 100 puts the job into error state), or that the batch system reports as signals.
	ReservedExits []int
	// Pause is the time between two listings; 0 means 20 ms, or 500 ms if Commands are run, because twelve parallel
	// checks would otherwise keep the machine busy with listings. A Watcher may cut the pause short.
	Pause time.Duration

	// Requeue makes the batch system run a running job again.
	Requeue func(t TB, id string)
	// KillNode stops the node that runs a job, and starts the node again when the check ends.
	KillNode func(t TB, host string)
	// SystemHold holds a waiting job in the way in which the batch system or an operator holds jobs; the owner then
	// sees a reason.
	SystemHold func(t TB, id string)
	// LoseHistory makes the batch system forget a job that has ended.
	LoseHistory func(t TB, id string)

	// Bin is the folder of the real commands. Commands are the names of all commands that the adapter runs. Submits is
	// the command that submits jobs: in checks of a faulty submission only that command is faulty. If Submits is "",
	// any command may submit.
	Bin      string
	Commands []string
	Submits  string
	// WithBin returns the same adapter with its commands taken from another folder.
	WithBin func(t TB, bin string) adapters.Adapter
	// EmptyIsNone is set if a command that printed nothing and exited with 0 may mean that there are no jobs
	// (condor_q).
	EmptyIsNone bool
	// AsksAlone is set if Find looks up each tag that an answer lacks again, with a command for this tag only, because a
	// command may answer only some of the tags.
	AsksAlone bool

	// NotHere maps names of checks to the reason why each check does not apply to this system. The suite fails if
	// NotHere names a check that could pass or that does not exist.
	NotHere map[string]string

	// Site is set by "jjm clusters test"; it is nil in tests of adapters.
	Site *Site
}
