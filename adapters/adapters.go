// Package adapters holds the contract between jjm and a batch system.
//
// An adapter translates: it runs the batch system's verbs and reads its
// answers. It classifies its errors with the kinds of package jjm - Invalid
// (will never work), Busy (certainly not done), Ambiguous (it may have
// happened), Denied, Gone - and never retries, decides or remembers what it
// need not. Retrying, doubt and absence belong to the layers above.
//
// A new adapter is one folder below this one and one line in adapters/all;
// adapters/adaptertest holds the suite that it must pass.
package adapters

import (
	"context"
	"time"

	"jjm"
)

// Adapter is one batch system. All methods may be called from many goroutines,
// and return soon after ctx ends with an error of kind Ambiguous (Submit) or
// Busy (the others).
type Adapter interface {
	// Name is the cluster's name in the configuration.
	Name() string
	// Capabilities says what the batch system can do. It does no I/O; what a
	// Prober learns may change it.
	Capabilities() Capabilities
	// Submit hands over one bulk. It is called at most once per bulk unless
	// Find proved the bulk absent. An error of kind Ambiguous means that the
	// jobs may exist; any other kind means that they surely do not.
	Submit(ctx context.Context, bulk Bulk) (Receipt, error)
	// List returns every job of the owner that carries a tag of jjm and is alive
	// or ended after since. An error means that nothing is known: an adapter
	// never turns trouble into an empty listing.
	List(ctx context.Context, owner jjm.Owner, since time.Time) (Listing, error)
	// Find says for each tag whether the batch system has the bulk.
	Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]Found, error)
	// Account returns final facts of jobs that ended. Jobs that it does not know
	// are left out.
	Account(ctx context.Context, owner jjm.Owner, jobs []Ref) ([]jjm.Report, error)
	// Control acts on jobs and answers for each, in order. "Already so" and
	// "already gone" are successes.
	Control(ctx context.Context, owner jjm.Owner, op Op, jobs []Ref) ([]error, error)
}

// Runner is what an adapter implements if it has work of its own to do. The
// owner of Run starts it before any other method is called and waits for it;
// Run returns nil when ctx ends.
type Runner interface {
	Run(ctx context.Context) error
}

// Watcher is what an adapter implements if it can tell that something changed.
// The channel carries no information but "list soon"; it is never closed.
type Watcher interface {
	Changed() <-chan struct{}
}

// Prober is what an adapter implements if it can ask its batch system, with
// one or two cheap commands, whether it answers and what its limits are. Probe
// is called before the first submission, every few minutes, and to find out
// whether a batch system in trouble is back. It returns an error of kind Busy
// if there is no answer; Capabilities then stays as it was. Until the first
// success Capabilities is what is safe without asking.
type Prober interface {
	Probe(ctx context.Context) error
}

// Checker is what an adapter implements if it can tell, without asking its
// batch system, that it cannot express a request. The error is of kind Invalid
// and names the field as the job file does ("request.gpus"); a jjm.Problems
// names several.
type Checker interface {
	Check(r jjm.Request) error
}

// Capabilities describe a batch system as jjm sees it through its adapter.
type Capabilities struct {
	// MaxBulk is the most jobs one Submit may carry.
	MaxBulk int
	// MaxQueued is the most jobs that one account may have in the batch system,
	// waiting and running; 0 when there is no such limit or it is not known.
	MaxQueued int
	// TwoPhase systems receive bulks held and run them only after Release.
	TwoPhase bool
	// SharedFS is true when workers see the work area under the same path. If
	// not, bulks say what is to be transferred.
	SharedFS bool
	// RenewsProxies is true when the batch system, where it carries files, takes a
	// proxy certificate along and brings newer ones to jobs that run.
	RenewsProxies bool
	// Accounting is true when Account can tell the end of jobs that the
	// listing has forgotten.
	Accounting bool
	// Guarantee says how strong exactly-once submission is here, and why.
	Guarantee string
	// Slots is the number of jobs that can run at once; 0 when not known.
	Slots int
	// MaxCores, MaxMemoryMB and MaxWalltime bound the request of one job; 0
	// means no bound.
	MaxCores    int
	MaxMemoryMB int64
	MaxWalltime time.Duration
	// Settle is how long after a doubtful submission an empty Find proves
	// absence.
	Settle time.Duration
	// Lag is how long after the end of a job a listing may still not show it.
	Lag time.Duration
}

// Bulk is one act of submission.
type Bulk struct {
	Tag     jjm.Tag
	Owner   jjm.Owner
	Request jjm.Request
	// N is the number of jobs; their indices are 0..N-1.
	N int
	// Argv is the command of every job; the job finds its index in the
	// environment variable named by IndexEnv and its own batch id in BatchEnv.
	Argv []string
	// Dir is the absolute directory in which jobs start; without meaning where
	// Transfer is set.
	Dir string
	// Log is the absolute path of a file to which the jobs' own standard
	// output and error go, where the batch system wants one ("" = discard).
	// The application's output does not pass here.
	Log string
	// Transfer is set if, and only if, the capabilities say that there is no
	// shared file system.
	Transfer *Transfer
}

// Transfer says which files a batch system carries for the jobs of a bulk, where
// workers do not see the work area. Jobs start in a fresh folder of their own.
type Transfer struct {
	// In are absolute paths of files and folders; each job finds a copy, under
	// the path's last element, in the folder in which it starts.
	In []string
	// Out is the name of the one file that each job leaves there. It arrives as
	// a file named by the job's index in Back, an absolute folder, before the
	// job counts as ended. A job that was cancelled need not leave it.
	Out, Back string
	// Proxy is the absolute path of the proxy certificate that the jobs want, ""
	// for none, and where the capabilities do not say RenewsProxies. A job finds a
	// copy of its own, in the folder in which it starts, through X509_USER_PROXY. A
	// newer one that takes the place of the file takes that of the copy, too, while
	// the job waits and while it runs.
	Proxy string
}

// The variables through which an adapter tells a job who it is. An adapter
// whose batch system uses other names wraps the command.
const (
	IndexEnv = "JJM_INDEX"
	BatchEnv = "JJM_BATCH_ID"
)

// Receipt acknowledges a bulk. It is provisional until a listing shows the tag.
type Receipt struct {
	// ID is the batch system's id of the bulk.
	ID string
}

// Ref names one job of a bulk in the batch system.
type Ref struct {
	Tag jjm.Tag
	// ID is the bulk's, or the job's own where Index is -1.
	ID    string
	Index int32
}

// Listing is one look at a batch system.
type Listing struct {
	// At is when the batch system answered.
	At      time.Time
	Reports []jjm.Report
}

// Presence is what is known about a tag.
type Presence uint8

// The three answers.
const (
	NotYetKnown Presence = iota
	Absent
	Present
)

// Found is the answer for one tag. IDs holds every bulk of that tag: more than
// one means that a submission was doubled.
type Found struct {
	Tag      jjm.Tag
	Presence Presence
	IDs      []string
}

// Op is what Control does.
type Op uint8

// The operations.
const (
	Cancel Op = iota
	HoldJobs
	Release
)

func (o Op) String() string {
	return [...]string{"cancel", "hold", "release"}[o]
}

// Registry maps the kinds of clusters that a configuration may name to what
// makes their adapters. Decode fills the adapter's own configuration from the
// cluster's section and reports unknown keys.
type Registry map[string]func(name string, env Env, decode func(config any) error) (Adapter, error)

// Env is what jjm gives an adapter at its construction.
type Env struct {
	// State is a folder of the adapter's own on local disk, which exists.
	State string
	// Owners is set where commands run as the owners of jobs, who then can read what is
	// in State under names that they know. What they keep in files of their own must
	// not configure a command.
	Owners bool
	// Now is the clock.
	Now func() time.Time
	// Warn reports trouble that no call could return.
	Warn func(msg string, args ...any)
}
