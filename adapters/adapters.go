// Package adapters holds the contract between jjm and a batch system.
//
// An adapter translates: it runs the batch system's commands and parses their output. It classifies its errors with the
// kinds of package jjm: Invalid (will never work), Busy (certainly not done), Ambiguous (may have happened), Denied and
// Gone. It never repeats a call, and stores facts about jobs only where the batch system forgets them too early.
// Packages idealize and plan decide what to do about a failure, a submission with an unknown outcome or a missing job.
//
// A new adapter is one folder below this one and one line in adapters/all. It must pass the suite of package
// conformance, which internal/testkit/adaptertest runs in its tests.
package adapters

import (
	"context"
	"time"

	"jjm/internal/jjm"
)

// Adapter is one batch system. All methods may be called from many goroutines. They return soon after ctx ends: Submit
// with an error of kind Ambiguous, or Busy if certainly nothing was done, the other methods with an error of kind Busy.
type Adapter interface {
	// Name is the cluster's name in the configuration.
	Name() string
	// Capabilities returns the capabilities of the batch system. It does no I/O. The result may change after a call of
	// Probe.
	Capabilities() Capabilities
	// Submit submits one bulk. An error of kind Ambiguous means that the jobs may exist; any other kind means that they
	// certainly do not exist. After a submission whose outcome is unknown, Submit is called again for the same bulk
	// only after Find has shown that the bulk is absent.
	Submit(ctx context.Context, bulk Bulk) (Receipt, error)
	// List returns every job of the owner that has a tag of jjm and is alive or ended after since. It returns an error
	// if it could not read the whole listing: an empty listing means that there are no jobs.
	List(ctx context.Context, owner jjm.Owner, since time.Time) (Listing, error)
	// Find returns, for each tag, whether the batch system has its bulk.
	Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]Found, error)
	// Account returns final facts of ended jobs, such as exit code and memory. It omits jobs that the accounting does
	// not know. If a job's record may exist but cannot be read, Account must not omit the job: it reports the job with
	// the state BatchUnknown and the reason (see Doubtful).
	Account(ctx context.Context, owner jjm.Owner, jobs []Ref) ([]jjm.Report, error)
	// Control applies an operation to jobs. It returns one result for each job, in the order of jobs. The result is nil
	// if a job is already in the wanted state or no longer exists.
	Control(ctx context.Context, owner jjm.Owner, op Op, jobs []Ref) ([]error, error)
}

// Runner is implemented by adapters that work in the background, such as the embedded batch system. The owner of the
// adapter calls Run before any other method, in a separate goroutine, and at the end waits for Run. Run returns nil
// when ctx ends.
type Runner interface {
	Run(ctx context.Context) error
}

// Watcher is implemented by adapters that notice changes without a listing. A value on the channel only means "list
// soon". The channel is never closed.
type Watcher interface {
	Changed() <-chan struct{}
}

// Prober is implemented by adapters that can check, with one or two cheap commands, whether their batch system answers
// and which limits it has. Probe is called before the first submission, every few minutes, and to find out whether a
// batch system in trouble answers again. It returns an error of kind Busy if there is no answer; Capabilities then does
// not change. Before the first success, Capabilities returns values that are safe for every such batch system.
type Prober interface {
	Probe(ctx context.Context) error
}

// Checker is implemented by adapters that can reject, without contacting the batch system, a request that they cannot
// express. The error is of kind Invalid and names the field by its key in the job file ("request.gpus"); a jjm.Problems
// names several fields.
type Checker interface {
	Check(r jjm.Request) error
}

// HostChecker is implemented by adapters whose batch system refuses submissions that exclude a host which it does not
// know. UnknownHosts returns those of the hosts that the batch system does not know. The error is of kind Busy if there
// is no answer.
type HostChecker interface {
	UnknownHosts(ctx context.Context, hosts []string) ([]string, error)
}

// BulkLimiter is implemented by adapters whose largest bulk depends on the request, such as on its queue, account or
// QOS. MaxBulkOf returns the largest number of jobs with a request in one Submit, 0 if no limit but
// Capabilities.MaxBulk is known. It does not contact the batch system.
type BulkLimiter interface {
	MaxBulkOf(r jjm.Request) int
}

// Diagnoser is implemented by adapters that know a command with which a person finds out whether the batch system
// runs. Diagnosis returns the command line, such as "scontrol ping". It does no I/O.
type Diagnoser interface {
	Diagnosis() string
}

// SubmitNamer is implemented by adapters that submit with a command. SubmitCommand returns the name of the program,
// such as "sbatch". It does no I/O.
type SubmitNamer interface {
	SubmitCommand() string
}

// Capabilities describes the limits and properties of a batch system, including those of its adapter.
type Capabilities struct {
	// MaxBulk is the largest number of jobs in one Submit.
	MaxBulk int
	// MaxQueued is the largest number of jobs that one account may have in the batch system, waiting and running; 0 if
	// there is no such limit or it is unknown.
	MaxQueued int
	// TwoPhase is set if the batch system receives bulks held and runs them only after Release.
	TwoPhase bool
	// SharedFS is set if workers see the work area under the same path. If it is false, Bulk.Transfer names the files
	// that the batch system has to carry.
	SharedFS bool
	// RenewsProxies is set if the batch system, when it carries files, also carries a proxy certificate and replaces it by
	// newer proxies while jobs run.
	RenewsProxies bool
	// FinalCancel is set if Control contacts no other system, and a cancel is final when Control has returned, whatever
	// crashes later: a job that waited never starts. Then a report of a job that is cancelled, never started and never
	// restarted proves that no process of the job was or will be started. No claim is needed in addition.
	FinalCancel bool
	// ExcludesHosts is set if the batch system keeps the jobs of a bulk off the hosts in Bulk.Exclude.
	ExcludesHosts bool
	// OneHost is set if all jobs run on the host of the daemon.
	OneHost bool
	// Accounting is set if Account knows the end of jobs that List no longer shows.
	Accounting bool
	// Guarantee describes how strong the guarantee of exactly one submission is here, and why.
	Guarantee string
	// Slots is the number of jobs that can run at the same time; 0 if unknown.
	Slots int
	// MaxCores, MaxMemoryMB (MiB) and MaxWalltime are the limits for the request of one job; 0 means no limit.
	MaxCores    int
	MaxMemoryMB int64
	MaxWalltime time.Duration
	// Settle is the time after a submission with an unknown outcome after which an empty Find proves that the bulk is
	// absent.
	Settle time.Duration
	// Lag is the time after the end of a job during which List may not show the end yet.
	Lag time.Duration
}

// Bulk is one submission: N jobs with the same command and request.
type Bulk struct {
	Tag     jjm.Tag
	Owner   jjm.Owner
	Request jjm.Request
	// N is the number of jobs; their indices are 0..N-1.
	N int
	// Argv is the command of every job. The environment variable named by IndexEnv contains the job's index; the
	// variable named by BatchEnv contains the job's own batch id.
	Argv []string
	// Dir is the absolute directory in which jobs start. It is not used if Transfer is set.
	Dir string
	// Log is the absolute path of a file for the standard output and error of the jobs themselves, if the batch system
	// wants such a file; "" discards the output. The output of the application does not go into this file.
	Log string
	// Exclude are the hosts on which no job of the bulk may start, whatever options the request has. jjm.IsHost is true
	// for each name. It is empty if the capabilities do not include ExcludesHosts.
	Exclude []string
	// Transfer is set if, and only if, Capabilities.SharedFS is false.
	Transfer *Transfer
}

// Transfer names the files that a batch system carries for the jobs of a bulk if workers do not see the work area. Each
// job starts in a new, separate folder.
type Transfer struct {
	// In are absolute paths of files and folders. Each job finds a copy, named by the
	// path's last element, in the folder in which it starts.
	In []string
	// Each is the absolute path of a folder that contains a folder for each job, named by the job's index. The batch
	// system copies a job's folder, under that name, to the folder in which the job starts. "" for none.
	Each string
	// Out is the name of the one file that each job leaves in its folder. Before the job counts as ended, the batch
	// system copies the file into Back, an absolute folder, where its name is the job's index. A cancelled job need not
	// leave the file.
	Out, Back string
	// Proxy is the absolute path of the proxy certificate for the jobs; "" for none, and always "" if the capabilities do
	// not include RenewsProxies. Each job finds its own copy, in the folder in which it starts, through X509_USER_PROXY.
	// When the file at this path is replaced by a newer proxy, the batch system also replaces the copies of waiting and
	// running jobs.
	Proxy string
}

// IndexEnv and BatchEnv are the environment variables for a job's index and its batch id. An adapter whose batch system
// uses other names wraps the command.
const (
	IndexEnv = "JJM_INDEX"
	BatchEnv = "JJM_BATCH_ID"
)

// Receipt acknowledges a bulk. It is provisional until a listing or Find shows the tag.
type Receipt struct {
	// ID is the batch system's id of the bulk.
	ID string
}

// Ref names one job of a bulk in the batch system.
type Ref struct {
	Tag jjm.Tag
	// ID is the id of the bulk, or the job's own id if Index is -1.
	ID    string
	Index int32
}

// Listing is the result of one List.
type Listing struct {
	// At is the time at which the batch system answered.
	At      time.Time
	Reports []jjm.Report
	// Unread holds the unreadable records that may belong to jobs of the account.
	Unread []Unread
}

// Presence is the answer to the question whether a batch system has the bulk of a tag.
type Presence uint8

// NotYetKnown is the zero value, so an answer that was never filled in claims nothing.
const (
	NotYetKnown Presence = iota
	Absent
	Present
)

// Found is the answer for one tag. IDs holds the ids of every bulk with that tag: more than one id means that a
// submission was duplicated.
type Found struct {
	Tag      jjm.Tag
	Presence Presence
	IDs      []string
}

// Op is an operation of Control.
type Op uint8

// The operations. HoldJobs prevents waiting jobs from starting; Release ends such a hold.
const (
	Cancel Op = iota
	HoldJobs
	Release
)

func (o Op) String() string {
	return [...]string{"cancel", "hold", "release"}[o]
}

// Registry maps each kind of cluster in a configuration to the constructor of its adapters. decode fills the adapter's
// own configuration from the cluster's section of the configuration file, and returns an error that names unknown keys.
type Registry map[string]func(name string, env Env, decode func(config any) error) (Adapter, error)

// Env holds the folder, the clock and the functions of jjm that an adapter may use. The constructor of an adapter
// receives it.
type Env struct {
	// State is an existing folder on a local disk that belongs only to the adapter.
	State string
	// Owners is set if commands run in the accounts of the owners of jobs. These accounts can read files in State whose
	// names they know, and can write files that they own there. Therefore the content of such a file must not configure
	// a command.
	Owners bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Warn logs trouble that no call could return; nil discards it.
	Warn func(msg string, args ...any)
	// Unmounted checks the disk and returns the reason, for people, why the files of jobs are currently unreachable; ""
	// if they are reachable. It is called if the command of a job does not exist. nil means a function that returns "".
	Unmounted func() string
}
