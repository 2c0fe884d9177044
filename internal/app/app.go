// Package app builds the daemon from its parts. It reads and checks the configuration, opens the parts in order, runs
// them, reloads the settings that can change, and closes the parts in the opposite order.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"jjm/adapters"
	adaptersall "jjm/adapters/all"
	"jjm/adapters/idealize"
	"jjm/handlers/declared"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/engine/site"
	"jjm/internal/jjm"
	"jjm/internal/publish/advertise/collector"
	"jjm/internal/storage/highwater"
	"jjm/internal/storage/spool"
	"jjm/internal/storage/store"
	"jjm/internal/sys/asuser"
	"jjm/internal/sys/fetch"
	"jjm/xmldb"
)

// Options are the options of the daemon's command line.
type Options struct {
	// Config is the path of the configuration; see Load.
	Config string
	// Version is shown to clients.
	Version string
	Getenv  func(string) string
	Stderr  io.Writer
	// Executable is the path of the running program. The wrapper is in the same folder.
	Executable string
	// Adopt makes the daemon accept a store that does not fit its folders: the ids continue above the highest id in the
	// folders.
	Adopt bool
}

// App is the daemon, built from its parts.
type App struct {
	opts   Options
	config Config
	path   string // path of the configuration file, "" if there is none
	log    *slog.Logger
	level  *slog.LevelVar

	store   *store.Store
	ids     highwater.IDs
	records *xmldb.DB
	engine  *engine.Engine
	server  *server.Server
	socket  net.Listener
	helpers *asuser.Pool // processes that act as the owners of jobs; nil if jobs run as the daemon's account
	// reserve protects the file system of the store from files that accounts leave in the spool and the drop folder.
	reserve *reserve
	models  func() []wire.Model // returns the current models of job files
	// publisher sends the site's ad to brokers, if the configuration names collectors.
	publisher *collector.Publisher

	metering
	paging

	closers []closer // in the order of opening
}

// closer is a function that Close calls, with the name of what it closes.
type closer struct {
	name string
	do   func() error
}

// New opens everything that the daemon needs, and carries out the requests in the spool. It starts only one kind of
// background work: asking the programs of job types for descriptions. Run starts the rest. If New fails, it closes
// everything that it opened. The error contains all problems of the configuration.
func New(ctx context.Context, opts Options) (*App, error) {
	config, path, problems := Examine(opts)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	a := &App{opts: opts, config: config, path: path, level: &slog.LevelVar{}}
	a.setLevel(config.Log)
	a.log = slog.New(slog.NewTextHandler(opts.Stderr, &slog.HandlerOptions{Level: a.level}))
	for _, p := range config.Advice() {
		a.log.Warn("the configuration has a setting that may surprise", "setting", p.Field, "note", p.Text)
	}
	a.meter = newMeter(&a.config)
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// open opens the state folder, store, records, clusters, engine and socket, in this order. Before the socket, the
// engine carries out requests that wait in the spool.
func (a *App) open(ctx context.Context) error {
	if a.config.shared() {
		// Folders and files for other accounts get the modes that are written in the code, whatever umask the daemon
		// inherits. The mode of a secret file is given explicitly.
		unix.Umask(0o022)
	}
	state := a.config.State
	release, err := openState(state)
	if errors.Is(err, unix.ENOSPC) { // the disk is full, and no other daemon holds the lock
		a.openReserve()
		release, err = openState(state)
	}
	if err != nil {
		return err
	}
	a.onClose("state lock", release)
	a.reserve = a.openReserve()
	a.onClose("spool", func() error { return a.reserve.open() })
	if err := a.openStore(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(a.config.Work, 0o755); err != nil { // only after openStore has checked this folder
		return jjm.Errorf(jjm.Invalid, "work folder: %w: make it, writable for this account, or set work to another folder",
			err)
	}
	warn := func(msg string, args ...any) { a.log.Warn(msg, args...) }
	if a.records, err = xmldb.Open(a.config.recordDir(),
		xmldb.Options{Warn: warn, Readers: a.config.Gate.AdminUIDs()}); err != nil {
		return err
	}
	a.onClose("records", a.records.Close)
	clusters, err := a.clusters()
	if err != nil {
		return err
	}
	if err := a.openEngine(ctx, clusters); err != nil {
		return err
	}
	a.config.Gate.Version = a.opts.Version
	a.openPublisher()
	b := brokers{publisher: a.publisher, advertises: len(a.config.Advertise.Collectors) > 0, low: a.engine.Low,
		models: a.models, sharedFolders: a.reserve.notes.tell, page: a.pageTrouble}
	a.server = server.New(served(a.opts.Version, a.engine, b), a.observedServer(), a.log)
	a.engine.TakeIn(ctx) // before the socket answers any request
	if a.socket, err = server.Listen(filepath.Join(state, "jjm.sock"), a.config.Gate); err != nil {
		return err
	}
	a.onClose("socket", func() error { return ignoreClosed(a.socket.Close()) })
	if err := a.openMetrics(b); err != nil {
		return err
	}
	return a.openPage(ctx, b)
}

// ignoreClosed returns err, but nil if err means that a listener was already closed.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// openEngine creates the folders of accounts, loads the job types, and creates the engine, which loads its state from
// the store.
func (a *App) openEngine(ctx context.Context, clusters []engine.Cluster) error {
	wrapper, err := Wrapper(a.config.Wrapper, a.opts.Executable)
	if err != nil {
		return err
	}
	account, users := a.identity()
	if err := a.reserve.makeAll(); err != nil {
		return err
	}
	if err := a.takeFolders(ctx); err != nil {
		return err
	}
	site, problems := a.config.Types()
	if len(problems) > 0 {
		return problems.Err()
	}
	a.warnOff(site)
	types := site.Registry
	asking, stop := context.WithCancel(ctx)
	a.onClose("job types", func() error { stop(); return nil })
	go a.askTypes(asking, types)
	for _, p := range a.config.CheckModels(types) {
		a.log.Error("a model of job files cannot be used", "error", p.String())
	}
	a.models = func() []wire.Model { return a.config.shownModels(types) }
	a.engine, err = engine.New(ctx, a.config.Engine, engine.Deps{
		Store: a.store, Records: a.records, Types: types, Clusters: clusters,
		SiteFiles: engine.SiteFiles{Model: a.config.Model, Off: site.Off, Held: a.config.heldType,
			Notices: a.config.Notify.Addresses(), Callbacks: a.config.Notify.CallbacksPerUser > 0,
			Unread: func(typ string) string { return declared.Unread(a.config.JobTypes, typ) }},
		Folders: engine.Folders{Work: a.config.Work, RecordDir: a.config.recordDir(), DropDir: a.dropDir(),
			SpoolDir: a.config.spoolDir(), Wrapper: wrapper},
		Accounts: engine.Accounts{Caller: a.callerOf, Find: asuser.Find, Account: account, Users: users,
			Readers: a.config.Gate.AdminUIDs()},
		Now: time.Now, Log: a.log, Crash: a.failpoint(), IDs: a.ids, Accounted: a.accounted(),
		Fetch: fetch.Child, Notify: true,
	})
	if err != nil {
		return err
	}
	a.journalStart(ctx, jjm.At(time.Now()))
	return nil
}

// journalStart notes the start of the daemon at the time now: in the journal, or in a crash loop as the last start,
// which a later start writes into the journal. An error is only logged: a daemon must start on a full disk too, so that
// the running jobs are watched.
func (a *App) journalStart(ctx context.Context, now jjm.Time) {
	if err := countStart(ctx, a.store, now); err != nil {
		a.log.Warn("the journal has no entry about this start of the daemon", "error", err)
	}
}

func countStart(ctx context.Context, s *store.Store, now jjm.Time) error {
	starts, err := s.Starts(ctx)
	if err != nil {
		return err
	}
	next, entries := starts.Next(now)
	kept, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return s.Update(ctx, func(tx *store.Tx) error {
		if err := tx.Journal(entries...); err != nil {
			return err
		}
		return tx.SetMeta(jjm.StartsKey, string(kept))
	})
}

func (a *App) dropDir() string { return filepath.Join(a.config.State, "drop") }

func (c *Config) spoolDir() string { return filepath.Join(c.State, "spool") }

// makeSpool makes the spool folder. Accounts that may open the socket may write to the spool.
func (a *App) makeSpool() error {
	mode, group, err := a.config.Gate.Access()
	if err != nil {
		return err
	}
	return spool.Make(a.config.spoolDir(), mode, group)
}

// callerOf returns the caller for a file that an account left in the spool. The account's group comes from the account
// database, because the file has the group of the folder. gid is used only for an account that is not in the database.
func (a *App) callerOf(uid, gid int) server.Caller {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		if n, err := strconv.Atoi(u.Gid); err == nil {
			gid = n
		}
	}
	return a.server.CallerOf(uid, gid)
}

// ownAccount returns the daemon's own account, which runs all jobs at a site with run_as = "service".
func ownAccount() *jjm.Owner {
	name := strconv.Itoa(os.Geteuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return &jjm.Owner{UID: os.Geteuid(), GID: os.Getegid(), User: name}
}

// Wrapper returns the path of the wrapper: the configured path, or the path of a wrapper beside the daemon's program or
// in libexec. It does not check a configured path. The error is of kind Invalid if neither of the two folders has a
// wrapper.
func Wrapper(configured, executable string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	dir := filepath.Dir(executable)
	for _, path := range []string{
		filepath.Join(dir, "jjm-wrapper"),
		filepath.Join(dir, "..", "libexec", "jjm", "jjm-wrapper"),
	} {
		if program(path) == nil {
			return path, nil
		}
	}
	return "", jjm.Errorf(jjm.Invalid,
		"jjm-wrapper is not beside %s: install it there, or set wrapper in the configuration", executable)
}

// clusters creates the clusters that the configuration names, each with its adapter, wrapped by package idealize.
func (a *App) clusters() ([]engine.Cluster, error) {
	var out []engine.Cluster
	for i, section := range a.config.Cluster {
		name, _ := section["name"].(string)
		kind, _ := section["kind"].(string)
		env, err := a.clusterEnv(name)
		if err != nil {
			return nil, err
		}
		common := a.config.clusterDefaults(section)
		adapter, err := adaptersall.Registry()[kind](name, env, func(into any) error {
			return decodeCluster(i, section, &common, into).Err()
		})
		if err != nil {
			return nil, err
		}
		a.instrument(adapter)
		adapter = idealize.Wrap(adapter, common.Config, idealize.Deps{Log: a.log.With("cluster", name),
			Observe: a.observeCommands(name)})
		if c, ok := adapter.(io.Closer); ok {
			a.onClose("cluster "+name, c.Close)
		}
		first, all := queues(section)
		out = append(out, engine.Cluster{Kind: kind, Adapter: adapter, Queue: first, Queues: all, Config: common})
	}
	return out, nil
}

// clusterEnv creates the state folder of a cluster and returns the environment for the cluster's adapter.
func (a *App) clusterEnv(name string) (adapters.Env, error) {
	dir := filepath.Join(a.config.State, "clusters", name)
	err := os.MkdirAll(dir, a.config.clusterMode())
	if err == nil { // whatever the umask is, and also for an existing folder
		err = errors.Join(os.Chmod(filepath.Dir(dir), a.config.clusterMode()), os.Chmod(dir, a.config.clusterMode()))
	}
	if err != nil {
		return adapters.Env{}, jjm.Errorf(jjm.Invalid, "state of cluster %s: %w: make the folder writable for this account",
			name, err)
	}
	log := a.log.With("cluster", name)
	return adapters.Env{State: dir, Owners: a.config.RunAs == runAsOwner, Now: time.Now,
		Warn:      func(msg string, args ...any) { log.Warn(msg, args...) },
		Unmounted: site.Work(a.config.Work)}, nil
}

// helpersTime is the time for which the owners' helpers may still work after the daemon was told to stop. After this
// time the helpers end, and every call that waits for a helper returns.
const helpersTime = 10 * time.Second

// Run serves requests until ctx ends. Running local jobs continue without the daemon.
func (a *App) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var failed [2]error
	wg.Go(func() {
		defer cancel()
		failed[0] = a.engine.Run(ctx)
	})
	wg.Go(func() {
		defer cancel()
		failed[1] = a.server.Serve(ctx, a.socket)
	})
	wg.Go(func() { a.watchConfig(ctx) })
	wg.Go(func() { a.publisher.Run(ctx) })
	wg.Go(func() { a.reserve.keep(ctx) })
	wg.Go(func() { a.ids.Keep(ctx) })
	wg.Go(func() { a.serveMetrics(ctx) })
	wg.Go(func() { a.servePage(ctx) })
	if a.config.Accounting.Blah != "" {
		wg.Go(func() { a.runAccounting(ctx) })
	}
	wg.Go(func() { a.runNotices(ctx) })
	a.log.Info("jjm serves", "version", a.opts.Version, "state", a.config.State,
		"state_from", a.config.StateFrom(a.opts.Getenv, a.path), "work", a.config.Work,
		"socket", filepath.Join(a.config.State, "jjm.sock"), "config", a.path)
	stopNotify := a.notifyManager(ctx, &wg)
	<-ctx.Done()
	stopNotify()
	if a.helpers != nil {
		t := time.AfterFunc(helpersTime, func() { _ = a.helpers.Close() })
		defer t.Stop()
	}
	wg.Wait()
	a.log.Info("jjm stops; running local jobs go on", "why", context.Cause(ctx))
	return errors.Join(failed[:]...)
}

// onClose adds a function that Close will call.
func (a *App) onClose(name string, do func() error) {
	a.closers = append(a.closers, closer{name, do})
}

// Close closes everything that New opened, in reverse order. A second call does nothing.
func (a *App) Close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		if err := a.closers[i].do(); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", a.closers[i].name, err))
		}
	}
	a.closers = nil
	return errors.Join(errs...)
}
