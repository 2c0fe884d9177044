package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/rpc"
	"os"
	"path/filepath"
	"sync"
	"time"

	handlersall "jjm/handlers/all"
	"jjm/internal/api/serve"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/sys/asuser"
	"jjm/xmldb"
)

// SiteArgs are the arguments of a site.
type SiteArgs struct {
	Dir     string // the folder of store, records and socket
	Work    string // the folder of the work areas
	Wrapper string
	Live    int  // number of local jobs that run at the same time
	History int  // finished local jobs in the store
	Idle    bool // the batch system starts no jobs
	// Quiet is how long nothing is requested from the site after all its local jobs run.
	Quiet time.Duration
}

// Site runs the parts of the daemon (engine, store, records and server) on a simulated batch system, in a child.
type Site struct {
	tb
	*parts

	args    SiteArgs
	player  *player
	cluster *metered
	log     *slog.Logger
	caller  wire.Caller
	endPlay context.CancelFunc
	grid    jjm.GridID // the large grid job, after Fill made it
}

// parts are the parts of one started daemon.
type parts struct {
	store   *store.Store
	records *xmldb.DB
	engine  *engine.Engine
	stop    context.CancelFunc
	running sync.WaitGroup
	failed  [2]error // valid after the parts have ended
}

// owner is the account that owns everything.
const owner = "bench"

// Begin fills the store with the history and starts everything.
func (s *Site) Begin(args SiteArgs, _ *int) error {
	return try(func() {
		s.args = args
		s.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		s.caller = wire.Caller{UID: os.Getuid(), GID: os.Getgid(), User: owner, Admin: true}
		if args.History > 0 {
			buildHistory(filepath.Join(args.Dir, "store.db"), args.History)
		}
		s.player = newPlayer(filepath.Join(args.Work, owner), args.Live, args.Idle)
		s.cluster = &metered{Adapter: s.player.sim}
		var playing context.Context
		playing, s.endPlay = context.WithCancel(context.Background())
		go s.player.play(playing)
		s.open()
	})
}

// open opens and runs the parts of a daemon, in the order of package app.
func (s *Site) open() {
	d := &parts{}
	var ctx context.Context
	ctx, d.stop = context.WithCancel(context.Background())
	records := filepath.Join(s.args.Dir, "records")
	d.store = must(store.Open(filepath.Join(s.args.Dir, "store.db"), store.Options{Now: time.Now}))
	d.records = must(xmldb.Open(records, xmldb.Options{}))
	d.engine = must(engine.New(ctx, engine.Defaults(), engine.Deps{
		Accounts: engine.Accounts{Find: asuser.Find},
		Store:    d.store, Records: d.records, Types: handlersall.Registry(),
		Clusters: []engine.Cluster{{Kind: "simulation", Adapter: s.cluster}},
		Folders: engine.Folders{Work: s.args.Work, RecordDir: records, DropDir: filepath.Join(s.args.Dir, "drop"),
			Wrapper: s.args.Wrapper},
		Now: time.Now, Log: s.log, Notify: true,
	}))
	socket := must(server.Listen(s.socket(), server.Config{}))
	d.running.Go(func() { d.failed[0] = d.engine.Run(ctx) })
	d.running.Go(func() { d.failed[1] = server.New(d.engine.Verbs(), server.Config{}, s.log).Serve(ctx, socket) })
	s.parts = d
}

func (s *Site) socket() string { return filepath.Join(s.args.Dir, "jjm.sock") }

// Stop stops the daemon's parts. The batch system continues.
func (s *Site) Stop(int, *int) error {
	d := s.parts
	if d == nil {
		return nil
	}
	s.parts = nil
	d.stop()
	d.running.Wait()
	return errors.Join(d.failed[0], d.failed[1], d.records.Close(), d.store.Close())
}

// close ends everything, if it began.
func (s *Site) close() error {
	err := s.Stop(0, nil)
	if s.endPlay != nil {
		s.endPlay()
		<-s.player.over
		err = errors.Join(err, s.player.area.Close(), errors.Join(s.player.sim.Troubles()...))
	}
	return err
}

// submit submits a grid job of n local jobs with one event each.
func (s *Site) submit(n int) jjm.GridID {
	text := fmt.Sprintf("type = \"montecarlo\"\nname = \"live\"\n[params]\n"+
		"command = [\"simulate\", \"{first_event}\", \"{events}\", \"{seed}\"]\nevents = %d\nevents_per_job = 1\n", n)
	made := must(serve.Ask(context.Background(), s.engine.Verbs(), wire.VerbSubmit(), s.caller, wire.SubmitRequest{
		Submit: &wire.Submit{Name: "job.toml", Text: text, BaseDir: s.args.Dir}}))
	return made.Submit.ID
}

// started returns how many local jobs of grid jobs have started, and how many of them have completed.
func (s *Site) started() (started, completed int) {
	states := must(serve.Ask(context.Background(), s.engine.Verbs(), wire.VerbList(), s.caller, wire.ListRequest{}))
	for _, st := range states.Status {
		c := st.Lookup.Counts
		started += c.Running + c.Completing + c.Completed
		completed += c.Completed
	}
	return started, completed
}

// Fill submits Live local jobs, which all run, and a fifth more, each of which waits until a running local job ends. It
// returns the large grid job when all records are written.
func (s *Site) Fill(_ int, grid *jjm.GridID) error {
	return try(func() {
		s.grid = s.submit(s.args.Live)
		s.submit(max(s.args.Live/5, 10))
		s.until("all local jobs run", func() bool {
			started, _ := s.started()
			return started >= s.args.Live
		})
		// The records of the start are published meanwhile. Afterwards only the ordinary work of the cycles remains.
		time.Sleep(s.args.Quiet)
		*grid = s.grid
	})
}

// site is a site in a child, as the bench sees it.
type site struct {
	*rpc.Client
	dir  string
	grid jjm.GridID // the large grid job
}

// onSite starts a site, calls do, and ends the site.
func (b *bench) onSite(args SiteArgs, do func(site)) {
	args.Dir, args.Wrapper = must(os.MkdirTemp(b.dir, "site-")), filepath.Join(b.bin, "jjm-wrapper")
	args.Work = must(os.MkdirTemp(b.shared, "work-"))
	defer func() { _ = os.RemoveAll(args.Work) }() // it takes up memory; clean would remove it later
	b.inChild(func(c *rpc.Client) {
		ask[int](c, "Site.Begin", args)
		do(site{Client: c, dir: args.Dir})
	})
}

// onFilledSite is onSite with local jobs that all run, and with finished ones.
func (b *bench) onFilledSite(live, history int, do func(site)) {
	b.onSite(SiteArgs{Live: live, History: history, Quiet: b.size.quiet}, func(s site) {
		s.grid = ask[jjm.GridID](s.Client, "Site.Fill", 0)
		b.say("  %d local jobs run, %d are finished", live, history)
		do(s)
	})
}
