// Package engine carries out what package plan decides.
//
// It is level-triggered: a loop looks at what is, asks plan what to do about
// it, and does one thing. Every loop can be stopped anywhere and started
// again, because an intent is stored before its effect (a bulk before its
// command, a kill before its signal), and because the effect is looked for
// before it is made again.
//
// Truth lies in package store. The engine keeps a row of every live local job
// in memory, loaded at the start and written through: a change is committed
// first and then applied to memory ([Engine] never shows what is not stored).
// One mutex orders the changes; another guards memory for the short moment of
// applying them, so that a lookup never waits for a disk.
//
// What an account can hold up - its files, its helper, its commands - is done
// account by account, see keyed: who is slow waits alone.
//
// The loops:
//
//	grid jobs   prepare, generate, kill, collect, archive: one at a time each
//	sources     look at watched folders and programs that list files
//	submit      per cluster and account: form bulks, hand them over, settle doubtful ones
//	watch       per cluster: one listing a cycle, absences
//	control     per cluster and account: cancel what is to be killed, release what is held
//	harvest     per account: read what wrappers left in the bulks' done folders, judge what ended
//	publish     write dirty records, at most a fortieth of the time
//	intake      take in what gatekeepers left while the daemon was away
//	orders      end what administrators ordered for a time
//	holds       end what applications hold for too long
//	space       watch how full the disks are
package engine

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/handlers"
	"jjm/plan"
	"jjm/store"
	"jjm/wire"
	"jjm/xmldb"
)

// Deps are what the engine works with.
type Deps struct {
	Store   *store.Store
	Records *xmldb.DB
	Types   handlers.Registry
	// Clusters in the order of the configuration; the first is the default.
	Clusters []Cluster
	// Work is the absolute folder of the work areas, seen by the workers.
	Work string
	// Records' folder, for the paths that people are told.
	RecordDir string
	// DropDir is where outside programs leave fragments of records; "" = none.
	DropDir string
	// SpoolDir is where gatekeepers leave word while the daemon is away; "" =
	// none. Caller tells who an account is that left some.
	SpoolDir string
	Caller   func(uid, gid int) wire.Caller
	// Find gives an account by a name of it or by its number: Invalid if the machine
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
	Users Users
	// Wrapper is the path of the jjm-wrapper program.
	Wrapper string
	Now     func() time.Time
	Log     *slog.Logger
	// Crash is called at every named failpoint; an error stops the engine
	// there and then, as a kill would. Nil in production.
	Crash func(point string) error
	// Notify uses the kernel's file notification beside the rescans.
	Notify bool
	// Chunk is how many local jobs are made, or files added, in one transaction.
	// 0 means the usual number; tests of what happens between two of them take fewer.
	Chunk int
}

// Cluster is one batch system and its settings.
type Cluster struct {
	Kind    string
	Adapter adapters.Adapter
	// Config are the settings of this cluster.
	Config ClusterConfig
}

// Engine is the running heart of the daemon. Its exported methods may be
// called from many goroutines.
type Engine struct {
	cfg   atomic.Pointer[Config]
	deps  Deps
	log   *slog.Logger
	now   func() time.Time
	store *store.Store
	areas *areas

	write sync.Mutex   // orders changes; held from decision to memory
	mem   sync.RWMutex // guards what follows

	grids    map[jjm.GridID]*grid
	bulks    map[jjm.Tag]*bulk
	clusters map[string]*cluster
	names    []string // of clusters, in order
	// positions are those of clusters in names.
	positions map[string]int
	orders    []jjm.Order
	bans      []jjm.Ban
	uses      map[jjm.Tag]int
	live      map[int]*plan.PerUser     // by account
	bulksOf   map[int]map[jjm.Tag]*bulk // by account
	forming   map[jjm.Tag]*jjm.Bulk     // taken from what is ready and not stored yet
	unused    map[int][]unusedBulk      // whose folders are to be removed, by account
	unswept   map[int][]jjm.Owner       // whose areas were not swept since the start, by account

	low       atomic.Pointer[string] // see Low
	partials  atomic.Uint64          // tars made of unfinished grid jobs, for their names
	accounts  accounts
	work      *keyed[jjm.GridID]
	sources   *keyed[source]
	harvests  *keyed[int]
	workUses  workUses
	counts    *keyed[int] // of work areas
	told      tidings
	troubles  troubles
	box       intake
	endings   *endings
	pubKick   chan struct{}
	harvKick  chan struct{}
	orderKick chan struct{}
	stop      context.CancelCauseFunc // set by Run, under mem
}

// errCrashed is what a failpoint leaves behind in tests.
var errCrashed = errors.New("stopped at a failpoint")

// New loads the live state. It starts nothing: Run does.
func New(ctx context.Context, cfg Config, deps Deps) (*Engine, error) {
	if len(deps.Clusters) == 0 {
		return nil, jjm.Errorf(jjm.Invalid, "engine: no cluster configured")
	}
	if !filepath.IsAbs(deps.Work) {
		return nil, jjm.Errorf(jjm.Invalid, "engine: work folder %q is not absolute", deps.Work)
	}
	e := &Engine{
		deps: deps, log: deps.Log, now: deps.Now, store: deps.Store,
		areas:     newAreas(deps.Work, deps.Wrapper, deps.Users),
		grids:     map[jjm.GridID]*grid{},
		bulks:     map[jjm.Tag]*bulk{},
		uses:      map[jjm.Tag]int{},
		live:      map[int]*plan.PerUser{},
		bulksOf:   map[int]map[jjm.Tag]*bulk{},
		forming:   map[jjm.Tag]*jjm.Bulk{},
		unused:    map[int][]unusedBulk{},
		unswept:   map[int][]jjm.Owner{},
		clusters:  map[string]*cluster{},
		pubKick:   make(chan struct{}, 1),
		harvKick:  make(chan struct{}, 1),
		orderKick: make(chan struct{}, 1),
		positions: map[string]int{},
	}
	e.cfg.Store(&cfg)
	e.work = newKeyed(cfg.Workers, stepPatience, e.accounts.of, e.stepGrid)
	e.sources = newKeyed(cfg.Workers, stepPatience, func(s source) int { return e.accounts.of(s.grid) }, e.lookAt)
	e.harvests = byAccount(harvestsAtOnce, harvestPatience, e.harvestOf)
	e.workUses.of = map[int]*workUse{}
	e.counts = byAccount(usesAtOnce, usePatience, e.countWork)
	e.endings = newEndings(e.accounts.of)
	for _, c := range deps.Clusters {
		name := c.Adapter.Name()
		e.clusters[name] = newCluster(e, c)
		e.positions[name] = len(e.names)
		e.names = append(e.names, name)
	}
	if err := e.load(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Reconfigure takes over new settings; all but Workers apply at once.
func (e *Engine) Reconfigure(cfg Config) { e.cfg.Store(&cfg) }

func (e *Engine) conf() *Config { return e.cfg.Load() }

// Run drives all loops until ctx ends, then waits for them. Local jobs go on
// without it. The error is nil, or what stopped the engine.
func (e *Engine) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e.mem.Lock()
	e.stop = stop
	e.mem.Unlock()
	var wg sync.WaitGroup
	start := func(loop func(context.Context)) {
		wg.Go(func() { loop(ctx) })
	}
	for _, name := range e.names {
		c := e.clusters[name]
		if r, ok := c.adapter.(adapters.Runner); ok {
			wg.Go(func() { e.runAdapter(ctx, c, r) })
		}
		start(func(ctx context.Context) {
			c.awaitProbe(ctx)
			c.submitLoop(ctx)
		})
		if p, ok := c.adapter.(adapters.Prober); ok {
			start(func(ctx context.Context) { c.probeLoop(ctx, p) })
		} else {
			c.probed.Do(func() { close(c.ready) })
		}
		start(c.watchLoop)
		start(c.controlLoop)
	}
	start(e.harvestLoop)
	start(e.harvests.run)
	start(e.useLoop)
	start(e.counts.run)
	start(e.publishLoop)
	start(e.dropLoop)
	start(e.ordersLoop)
	start(e.intakeLoop)
	start(e.holdLoop)
	start(e.spaceLoop)
	start(e.work.run)
	start(e.sources.run)
	wg.Wait()
	e.areas.close()
	if err := context.Cause(ctx); errors.Is(err, errCrashed) {
		return err
	}
	return nil
}

// runAdapter keeps an adapter's own loop alive: its end before ours is trouble
// that is logged and tried again, never the daemon's end.
func (e *Engine) runAdapter(ctx context.Context, c *cluster, r adapters.Runner) {
	for ctx.Err() == nil {
		if err := r.Run(ctx); err != nil && ctx.Err() == nil {
			e.log.Error("batch system stopped, starting it again", "cluster", c.name, "error", err)
		}
		pause(ctx, time.Second)
	}
}

// crash is a named failpoint.
func (e *Engine) crash(point string) error {
	if e.deps.Crash == nil {
		return nil
	}
	err := e.deps.Crash(point)
	if err == nil {
		return nil
	}
	e.mem.RLock()
	stop := e.stop
	e.mem.RUnlock()
	err = errors.Join(errCrashed, err)
	if stop != nil {
		stop(err)
	}
	return err
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// kick wakes a loop that may be waiting; it never blocks.
func kick(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// waitKick waits for a kick, for d, or for the end of ctx.
func waitKick(ctx context.Context, ch <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-ch:
	case <-t.C:
	}
}
