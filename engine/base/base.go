package base

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/areas"
	"jjm/handlers"
	"jjm/store"
	"jjm/wire"
	"jjm/xmldb"
)

// MayRun refuses callers whose jobs would run as root though they are not - a
// service account must be an ordinary one - and root where everybody's jobs run
// as themselves.
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

// Deps are what the engine works with.
type Deps struct {
	Store   *store.Store
	Records *xmldb.DB
	Types   handlers.Registry
	// Clusters in the order of the configuration; the first is the default.
	Clusters []Cluster
	Folders
	Accounts
	Now func() time.Time
	Log *slog.Logger
	// Crash is called at every named failpoint; an error stops the engine
	// there and then, as a kill would. Nil in production.
	Crash func(point string) error
	// Notify uses the kernel's file notification beside the rescans.
	Notify bool
	// Chunk is how many local jobs are made, or files added, in one transaction.
	// 0 means the usual number; tests of what happens between two of them take fewer.
	Chunk int
}

// Folders are where things lie.
type Folders struct {
	// Work is the absolute folder of the work areas, seen by the workers.
	Work string
	// RecordDir is the records' folder, for the paths that people are told.
	RecordDir string
	// DropDir is where outside programs leave fragments of records; "" = none.
	DropDir string
	// SpoolDir is where gatekeepers leave word while the daemon is away; "" = none.
	SpoolDir string
	// Wrapper is the path of the jjm-wrapper program.
	Wrapper string
}

// Accounts are those of the machine, and who may do what as whom.
type Accounts struct {
	// Caller tells who an account is that left something in SpoolDir.
	Caller func(uid, gid int) wire.Caller
	// Find returns an account by a name of it or by its number: Invalid if the machine
	// knows none, Busy if that cannot be told now.
	Find func(ctx context.Context, name string) (jjm.Owner, error)
	// Account is the one account that all jobs run as; nil means each owner's
	// own.
	Account *jjm.Owner
	// Readers are the accounts that may read every output tar, besides root and
	// the daemon's own: the administrators.
	Readers []int
	// Users do everything below work areas and all commands as the owners; then
	// Account is nil. Nil: the daemon's account does it.
	Users areas.Users
}

// Cluster is one batch system and its settings.
type Cluster struct {
	Kind    string
	Adapter adapters.Adapter
	// Queue is that of jobs which name none, "" where the batch system decides; Queues
	// are the names of all, as far as its section names them.
	Queue  string
	Queues []string
	// Config are the settings of this cluster.
	Config ClusterConfig
}

// ErrCrashed is what a failpoint leaves behind in tests.
var ErrCrashed = errors.New("stopped at a failpoint")

// Reconfigure takes over new settings; all but Workers apply at once.
func (b *Base) Reconfigure(cfg Config) { b.cfg.Store(&cfg) }

func (b *Base) Conf() *Config { return b.cfg.Load() }

// Crash is a named failpoint.
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

func Itoa[T int | int32 | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// Chunk is how many parts one cut makes, and how many files are added to a dataset
// in one transaction: large enough for speed, small enough that others get their
// turn in between.
const Chunk = 5000

func (b *Base) Chunk() int { return cmp.Or(b.Deps.Chunk, Chunk) }
