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
	"jjm/plan"
	"jjm/store"
)

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
	feeds     feeds
	harvests  *keyed[int]
	workUses  workUses
	counts    *keyed[int] // of work areas
	told      tidings
	troubles  troubles
	box       intake
	endings   *endings
	pubKick   chan struct{}
	orderKick chan struct{}
	// wakeGrid has a grid job looked at, wakeSubmit what is to be submitted. Neither waits.
	wakeGrid   func(jjm.GridID)
	wakeSubmit func()
	// participants store a change, in this order; shown let its news be seen, under both
	// locks, and committed tell others of it, under the lock of changes alone.
	participants     []participant
	shown, committed []func(*change)
	stop             context.CancelCauseFunc // set by Run, under mem
}

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
		orderKick: make(chan struct{}, 1),
		positions: map[string]int{},
	}
	e.cfg.Store(&cfg)
	e.work = newKeyed(cfg.Workers, stepPatience, e.accounts.of, e.stepGrid)
	e.wakeGrid = e.work.kick
	e.wakeSubmit = func() {
		for _, c := range e.clusters {
			kick(c.submitKick)
		}
	}
	e.participants = e.transaction()
	e.shown = []func(*change){e.tellReaders}
	e.committed = []func(*change){e.wakeEndings, e.wakeReleases}
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
	if err := e.loadBans(ctx); err != nil {
		return nil, err
	}
	e.resumeKills()
	e.recallAccounts()
	e.resumeRecords()
	for id, g := range e.grids {
		e.wakeGrid(id)
		e.kickSources(&g.job)
	}
	return e, nil
}

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
