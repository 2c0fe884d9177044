package base

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"jjm/adapters"
	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
	"jjm/internal/storage/store"
	"jjm/internal/sys/fetch"
	"jjm/xmldb"
)

// MayRun returns an error of kind Denied if this daemon must not run the grid jobs of a caller, else nil. The decision
// depends on the account as which jobs run:
//
//	jobs run as their owners            root is refused
//	all jobs run as root                everybody but root is refused
//	all jobs run as another account     nobody is refused
func (b *Base) MayRun(caller wire.Caller) error {
	a := b.Deps.Account
	switch {
	case b.Deps.Users != nil && caller.UID == 0:
		return jjm.Errorf(
			jjm.Denied, "grid jobs run as their owners here, and never as root: submit them as an ordinary account")
	case a == nil || a.UID != 0 || caller.UID == 0:
		return nil
	}
	return jjm.Errorf(
		jjm.Denied, "this daemon runs all jobs as root, so it takes them from root only: run it as an ordinary account, or set run_as = \"owner\"")
}

// Deps contains what the engine needs and does not create itself.
type Deps struct {
	Store   *store.Store
	Records *xmldb.DB
	Types   handlers.Registry
	SiteFiles
	// Clusters are the site's clusters, in the order of the configuration; the first one is the default.
	Clusters []Cluster
	Folders
	Accounts
	Now func() time.Time
	Log *slog.Logger
	// Crash is called at every failpoint with the failpoint's name. If it returns an error, the engine stops there, as if
	// it had been killed. Crash is nil in production.
	Crash func(point string) error
	// IDs stores, outside the store, the highest id that a grid job got. If IDs is nil, only the store contains this id.
	IDs IDs
	// Accounted returns the number, in the store, of the last end of an attempt that is in the accounting log. Accounted
	// is nil if there is no log.
	Accounted func(context.Context) (seq int64, err error)
	// Fetch fetches an input or sends an event, as the order says. It runs as the account under which commands run in its
	// context.
	Fetch func(context.Context, fetch.Order) (fetch.Report, error)
	// Notify is set if the daemon uses the kernel's file notification in addition to periodic scans.
	Notify bool
	// Chunk is the number of local jobs that are made, or of files that are added, in one transaction. 0 means the
	// constant Chunk. Tests of events between two transactions use a small number.
	Chunk int
}

// IDs stores, outside the store, the highest id that a grid job got. Its methods may be called from many goroutines.
type IDs interface {
	// Reserved reports whether Reserve has reserved this id, so that a grid job with this id may be stored. It reads no
	// file.
	Reserved(jjm.GridID) bool
	// Reserve reserves an id, so that Reserved returns true for it. It returns an error of kind Busy if the site's folders
	// cannot be used now.
	Reserve(context.Context, jjm.GridID) error
	// Reach stores that the store contains a grid job with this id. It must be called before a client or gatekeeper learns
	// the id.
	Reach(jjm.GridID) error
}

// SiteFiles describes the site's own files: files of job types, and models, from which users make job files. It also
// says whether the site sends notices and callbacks.
type SiteFiles struct {
	// Unread returns the remedy for an unknown job type if the type's file was added to the site's folder of job types
	// after the daemon started, else "". Unread is nil if there is no such folder.
	Unread func(typ string) string
	// Off are files of job types that are not used, because they contain mistakes and other job types already have their
	// names.
	Off []handlers.Off
	// Held returns the reason why the program of a job type must not be run, because others can change it. Held is nil if
	// all programs are trusted.
	Held func(path string) error
	// Model returns the model of job files with a name, or the problems that make the model unusable. Model is nil if the
	// site has no models.
	Model func(name string) (jobfile.Model, jjm.Problems)
	// Notices is set if the site sends notices about the ends of grid jobs to the addresses in job files.
	Notices bool
	// Callbacks is set if the site sends changes of grid jobs to the servers in job files.
	Callbacks bool
}

// Folders are the paths of the files and folders with which the engine works.
type Folders struct {
	// Work is the absolute path of the folder with the work areas of all owners. The workers of clusters with a shared
	// file system see it under the same path.
	Work string
	// RecordDir is the folder of the XML records.
	RecordDir string
	// DropDir is the folder in which programs outside jjm leave fragments of records; "" if there is none.
	DropDir string
	// SpoolDir is the spool: the folder in which gatekeepers leave requests while the daemon is down; "" if there is none.
	SpoolDir string
	// Wrapper is the path of the program jjm-wrapper, which runs the application of an attempt on the worker.
	Wrapper string
	// LookEvery is the time between two checks that these folders are still there and have free space. 0 means 2 s. Tests
	// of simulated hours use a longer time.
	LookEvery time.Duration
}

// Accounts describes the accounts of the machine. It determines the accounts as which jobs run and files are opened.
type Accounts struct {
	// Caller returns a caller with the rights of the account that owns a file in SpoolDir.
	Caller func(uid, gid int) wire.Caller
	// Find returns an account by its name or by its uid as text. The error is of kind Invalid if the machine has no such
	// account, and Busy if the account database does not answer now.
	Find func(ctx context.Context, name string) (jjm.Owner, error)
	// Account is the account as which all jobs run; nil if each job runs as its owner.
	Account *jjm.Owner
	// Readers are the uids of the administrators. They may read every output tar, in addition to root and the daemon's
	// own account.
	Readers []int
	// Users opens work areas and runs commands as the owners of the jobs; Account is nil in this case. If Users is nil,
	// the daemon does both as its own account.
	Users areas.Users
}

// Cluster is one batch system of the site, with its adapter and its settings.
type Cluster struct {
	Kind    string
	Adapter adapters.Adapter
	// Queue is the default queue, "" if the batch system chooses a queue. Queues are all queues that the cluster's section
	// of the configuration names.
	Queue  string
	Queues []string
	// Config are the settings of this cluster.
	Config ClusterConfig
}

// ErrCrashed is wrapped by the errors that the engine returns after a failpoint of a test has stopped it.
var ErrCrashed = errors.New("stopped at a failpoint")

// Reconfigure replaces the settings. All settings apply immediately, except Workers, which is read only at the start of
// the daemon.
func (b *Base) Reconfigure(cfg Config) {
	set := rule.ShippedRules().With(rule.Site, cfg.Rule)
	b.rules.Store(&set)
	b.cfg.Store(&cfg)
}

// Rules returns the rules by which the attempts of a grid job's local jobs in a step are judged: the rules that jjm
// ships, the rules of the site and, except for the merge step, the rules of the job type.
func (b *Base) Rules(spec *jjm.Spec, step int32) rule.Set {
	set := *b.rules.Load()
	if step == jjm.StepMerge {
		return set
	}
	return handlers.RulesOf(b.Deps.Types[spec.Type], spec, set)
}

// Conf returns the present settings. Callers must not keep the result, because a later Reconfigure replaces the
// settings.
func (b *Base) Conf() *Config { return b.cfg.Load() }

// Crash is a failpoint: a named point at which a test can stop the engine. It returns nil in production. If Deps.Crash
// returns an error for the name, Crash stops the engine's loops and returns that error joined with ErrCrashed. The
// caller must return the error immediately, without any further effect.
func (b *Base) Crash(point string) error {
	hit := b.Deps.Crash
	if hit == nil {
		return nil
	}
	err := hit(point)
	if err == nil {
		return nil
	}
	err = errors.Join(ErrCrashed, err)
	if stop := b.stop.Load(); stop != nil {
		(*stop)(err)
	}
	return err
}

// Itoa returns a number in decimal. It accepts all integer types that ids and counts have.
func Itoa[T int | int32 | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// Chunk is the number of parts that one call of a splitter makes, and the number of files that one transaction adds to
// a dataset. Larger chunks would be faster, but other transactions would wait longer.
const Chunk = 5000

// Chunk returns Deps.Chunk, or the constant Chunk if Deps.Chunk is 0.
func (b *Base) Chunk() int { return cmp.Or(b.Deps.Chunk, Chunk) }
