// Package adapters holds the contract between jjm and a batch system.
//
// An adapter translates: it runs the batch system's commands and reads their output. It
// classifies its errors with the kinds of package jjm: Invalid (will never work), Busy
// (certainly not done), Ambiguous (may have happened), Denied and Gone. It never retries,
// and keeps no memory of jobs beyond what the batch system's own gaps force it to. What to
// do about a failure, a doubtful submission or a missing job is decided in packages
// idealize and plan.
//
// A new adapter is one folder below this one and one line in adapters/all. It must pass the suite of package
// conformance, which internal/testkit/adaptertest runs in its tests.
package adapters

import (
	"context"
	"time"

	"jjm/internal/jjm"
)

// Adapter is one batch system. All methods may be called from many goroutines, and return soon after ctx ends: Submit
// with an error of kind Ambiguous, or Busy if certainly nothing was done, the other methods with an error of kind Busy.
type Adapter interface {
	// Name is the cluster's name in the configuration.
	Name() string
	// Capabilities returns what the batch system can do. It does no I/O. The result may change after a call of Probe.
	Capabilities() Capabilities
	// Submit hands over one bulk. An error of kind Ambiguous means that the jobs may exist; any other kind means that
	// they certainly do not. After a submission whose outcome is unknown, Submit is called again for the same bulk only
	// after Find has shown that the bulk is absent.
	Submit(ctx context.Context, bulk Bulk) (Receipt, error)
	// List returns every job of the owner that carries a tag of jjm and is alive or ended
	// after since. An adapter that could not read the whole listing returns an error: an
	// empty listing means that there are no jobs.
	List(ctx context.Context, owner jjm.Owner, since time.Time) (Listing, error)
	// Find returns, for each tag, whether the batch system has its bulk.
	Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]Found, error)
	// Account returns final facts of jobs that ended, such as exit code and memory. It leaves out jobs that the
	// accounting does not know. A job whose record may exist but cannot be read must not be left out: it is reported
	// with the state BatchUnknown and the reason (see Doubtful).
	Account(ctx context.Context, owner jjm.Owner, jobs []Ref) ([]jjm.Report, error)
	// Control acts on jobs. It returns one result for each job, in the order of jobs. A job
	// that already is as wanted, or that is gone, is a success.
	Control(ctx context.Context, owner jjm.Owner, op Op, jobs []Ref) ([]error, error)
}

// Runner is implemented by adapters that work in the background, such as the embedded batch
// system. The owner of the adapter calls Run before any other method, in a goroutine of its
// own, and waits for it at the end. Run returns nil when ctx ends.
type Runner interface {
	Run(ctx context.Context) error
}

// Watcher is implemented by adapters that notice changes without a listing. A value on the
// channel means only "list soon". The channel is never closed.
type Watcher interface {
	Changed() <-chan struct{}
}

// Prober is implemented by adapters that can ask their batch system, with one or two cheap
// commands, whether it answers and what its limits are. Probe is called before the first
// submission, every few minutes, and to find out whether a batch system in trouble is back.
// It returns an error of kind Busy if there is no answer; Capabilities then does not
// change. Before the first success Capabilities returns what is safe without asking.
type Prober interface {
	Probe(ctx context.Context) error
}

// Checker is implemented by adapters that can refuse, without asking the batch system, a request that they cannot
// express. The error is of kind Invalid and names the field as the job file does ("request.gpus"); a jjm.Problems names
// several.
type Checker interface {
	Check(r jjm.Request) error
}

// Capabilities describes a batch system as jjm sees it through its adapter.
type Capabilities struct {
	// MaxBulk is the largest number of jobs in one Submit.
	MaxBulk int
	// MaxQueued is the largest number of jobs that one account may have in the batch
	// system, waiting and running; 0 if there is no such limit or it is not known.
	MaxQueued int
	// TwoPhase systems receive bulks held and run them only after Release.
	TwoPhase bool
	// SharedFS is true when workers see the work area under the same path. If it is false,
	// Bulk.Transfer names the files that the batch system has to carry.
	SharedFS bool
	// RenewsProxies is true when the batch system, where it carries files, carries a proxy
	// certificate too and replaces it by newer ones while jobs run.
	RenewsProxies bool
	// FinalCancel is true when Control asks no other system, and a cancel is final once it has
	// returned, whatever crashes later: a job that waited never starts. Then a report of a job
	// that is cancelled, never started and never restarted proves that no process of it was or
	// will be started, and needs no claim beside it.
	FinalCancel bool
	// Accounting is true when Account knows the end of jobs that List no longer shows.
	Accounting bool
	// Guarantee says how strong exactly-once submission is here, and why.
	Guarantee string
	// Slots is the number of jobs that can run at once; 0 if not known.
	Slots int
	// MaxCores, MaxMemoryMB (MiB) and MaxWalltime bound the request of one job; 0 means no
	// bound.
	MaxCores    int
	MaxMemoryMB int64
	MaxWalltime time.Duration
	// Settle is the time after a doubtful submission from which on an empty Find proves
	// that the bulk is absent.
	Settle time.Duration
	// Lag is the time after the end of a job during which List may not show the end yet.
	Lag time.Duration
}

// Bulk is one act of submission: N jobs with the same command and request.
type Bulk struct {
	Tag     jjm.Tag
	Owner   jjm.Owner
	Request jjm.Request
	// N is the number of jobs; their indices are 0..N-1.
	N int
	// Argv is the command of every job. The job finds its index in the environment variable
	// named by IndexEnv, and its own batch id in the one named by BatchEnv.
	Argv []string
	// Dir is the absolute directory in which jobs start. It is not used where Transfer is
	// set.
	Dir string
	// Log is the absolute path of a file for the standard output and error of the jobs
	// themselves, where the batch system wants such a file; "" discards them. The output of
	// the application does not go there.
	Log string
	// Transfer is set if, and only if, Capabilities.SharedFS is false.
	Transfer *Transfer
}

// Transfer names the files that a batch system carries for the jobs of a bulk where workers
// do not see the work area. Each job starts in a fresh folder of its own.
type Transfer struct {
	// In are absolute paths of files and folders. Each job finds a copy, named by the
	// path's last element, in the folder in which it starts.
	In []string
	// Each is the absolute path of a folder that holds a folder for each job, named by the job's index. The batch
	// system copies a job's folder, under that name, to where the job starts. "" for none.
	Each string
	// Out is the name of the one file that each job leaves in its folder. The batch system
	// brings it back into Back, an absolute folder, as a file named by the job's index,
	// before the job counts as ended. A cancelled job need not leave it.
	Out, Back string
	// Proxy is the absolute path of the proxy certificate that the jobs want; "" for none,
	// and always "" where the capabilities do not say RenewsProxies. Each job finds its own
	// copy, in the folder in which it starts, through X509_USER_PROXY. When the file at
	// this path is replaced by a newer one, the copies of waiting and running jobs are
	// replaced too.
	Proxy string
}

// IndexEnv and BatchEnv are the environment variables from which a job learns its index and
// its batch id. An adapter whose batch system uses other names wraps the command.
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

// Listing is one look at a batch system.
type Listing struct {
	// At is when the batch system answered.
	At      time.Time
	Reports []jjm.Report
	// Unread holds the records that could not be read and that may belong to jobs of the account.
	Unread []Unread
}

// Presence says whether a batch system has the bulk of a tag.
type Presence uint8

// NotYetKnown comes first, so that an answer that was never filled in claims nothing.
const (
	NotYetKnown Presence = iota
	Absent
	Present
)

// Found is the answer for one tag. IDs holds the ids of every bulk with that tag: more than
// one id means that a submission was doubled.
type Found struct {
	Tag      jjm.Tag
	Presence Presence
	IDs      []string
}

// Op is an operation of Control.
type Op uint8

// The operations. HoldJobs keeps waiting jobs from starting, Release undoes that.
const (
	Cancel Op = iota
	HoldJobs
	Release
)

func (o Op) String() string {
	return [...]string{"cancel", "hold", "release"}[o]
}

// Registry maps each kind of cluster that a configuration may name to the constructor of
// its adapters. decode fills the adapter's own configuration from the cluster's section of
// the configuration file, and returns an error that names unknown keys.
type Registry map[string]func(name string, env Env, decode func(config any) error) (Adapter, error)

// Env holds the folder, the clock and the functions of jjm that an adapter may use. New adapters get it.
type Env struct {
	// State is an existing folder on a local disk that belongs only to the adapter.
	State string
	// Owners is true where commands run as the owners of jobs. These accounts can read
	// files in State whose names they know, and can write their own files there, so the
	// content of such a file must not configure a command.
	Owners bool
	// Now is the clock; nil stands for time.Now.
	Now func() time.Time
	// Warn logs trouble that no call could return; nil discards it.
	Warn func(msg string, args ...any)
	// Unmounted looks at the disk and returns the reason why no job's files can be reached now, for people, or "". It
	// is called when the command of a job does not exist. nil stands for a function that returns "".
	Unmounted func() string
}
