package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
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
	"jjm/internal/testkit/await"
	"jjm/xmldb"
)

// siteArgs are the arguments of a site.
type siteArgs struct {
	Dir     string // the folder of store, records and socket
	Work    string // the folder of the work areas
	Wrapper string
	Live    int  // number of local jobs that run at the same time
	History int  // finished local jobs in the store; only the parent uses it
	Idle    bool // the batch system starts no jobs
	// Quiet is how long nothing is requested from the site after all its local jobs run.
	Quiet time.Duration
}

// site is a child with the parts of the daemon (engine, store, records and server) on a simulated batch system.
type site struct {
	args    siteArgs
	player  *player
	cluster *metered
	log     *slog.Logger
	caller  wire.Caller
	endPlay context.CancelFunc
	grid    jjm.GridID // the large grid job, after fill made it

	*daemon
}

// daemon holds the parts of one started daemon.
type daemon struct {
	store   *store.Store
	records *xmldb.DB
	engine  *engine.Engine
	socket  net.Listener
	stop    context.CancelFunc
	running sync.WaitGroup
	failed  error // valid after the parts have ended
}

// owner is the account that owns everything.
const owner = "bench"

func (s *site) answer(ctx context.Context, do string, arg func(into any) error) (any, error) {
	switch do {
	case "begin":
		if err := arg(&s.args); err != nil {
			return nil, err
		}
		return nil, s.begin(ctx)
	case "fill":
		return s.fill(ctx)
	case "cycles":
		var while time.Duration
		if err := arg(&while); err != nil {
			return nil, err
		}
		return s.cycles(ctx, while)
	case "accept":
		var n int
		if err := arg(&n); err != nil {
			return nil, err
		}
		return s.acceptOne(ctx, n)
	case "page":
		var rounds int
		if err := arg(&rounds); err != nil {
			return nil, err
		}
		return s.readPage(ctx, rounds)
	case "stop":
		return nil, s.halt()
	case "start":
		return s.restart(ctx)
	}
	return nil, fmt.Errorf("a site cannot %q", do)
}

// begin creates the folders and starts everything.
func (s *site) begin(ctx context.Context) (err error) {
	s.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s.caller = wire.Caller{UID: os.Getuid(), GID: os.Getgid(), User: owner, Admin: true}
	if s.player, err = newPlayer(filepath.Join(s.args.Work, owner), s.args.Live, s.args.Idle); err != nil {
		return err
	}
	s.cluster = &metered{Adapter: s.player.sim}
	playing, end := context.WithCancel(ctx)
	s.endPlay = end
	go s.player.play(playing)
	s.daemon, err = s.open(ctx, s.args.Dir)
	return err
}

// open opens and runs the parts of a daemon, in the order of package app.
func (s *site) open(ctx context.Context, dir string) (d *daemon, err error) {
	d = &daemon{}
	if d.store, err = store.Open(filepath.Join(dir, "store.db"), store.Options{Now: time.Now}); err != nil {
		return nil, err
	}
	if d.records, err = xmldb.Open(filepath.Join(dir, "records"), xmldb.Options{}); err != nil {
		return nil, err
	}
	config := engine.Defaults()
	d.engine, err = engine.New(ctx, config, engine.Deps{
		Accounts: engine.Accounts{Find: asuser.Find},
		Store:    d.store, Records: d.records, Types: handlersall.Registry(),
		Clusters: []engine.Cluster{{Kind: "simulation", Adapter: s.cluster}},
		Folders: engine.Folders{Work: s.args.Work, RecordDir: filepath.Join(dir, "records"),
			DropDir: filepath.Join(dir, "drop"),
			Wrapper: s.args.Wrapper},
		Now: time.Now, Log: s.log, Notify: true,
	})
	if err != nil {
		return nil, err
	}
	if d.socket, err = server.Listen(filepath.Join(dir, "jjm.sock"), server.Config{}); err != nil {
		return nil, err
	}
	ctx, d.stop = context.WithCancel(ctx)
	var failed [2]error
	var parts sync.WaitGroup
	parts.Go(func() { failed[0] = d.engine.Run(ctx) })
	parts.Go(func() { failed[1] = server.New(d.engine.Verbs(), server.Config{}, s.log).Serve(ctx, d.socket) })
	d.running.Go(func() {
		parts.Wait()
		d.failed = errors.Join(failed[:]...)
	})
	return d, nil
}

// halt stops the daemon's parts. The batch system continues.
func (s *site) halt() error {
	d := s.daemon
	if d == nil {
		return nil
	}
	s.daemon = nil
	d.stop()
	d.running.Wait()
	return errors.Join(d.failed, d.records.Close(), d.store.Close())
}

func (s *site) close() error {
	err := s.halt()
	if s.endPlay != nil {
		s.endPlay()
		<-s.player.over
		err = errors.Join(err, s.player.area.Close())
		for _, trouble := range s.player.sim.Troubles() {
			err = errors.Join(err, trouble)
		}
	}
	return err
}

// submit submits a grid job of n local jobs with one event each.
func (s *site) submit(ctx context.Context, n int) (jjm.GridID, error) {
	text := fmt.Sprintf(`type = "montecarlo"
name = "live"
[params]
command = ["simulate", "{first_event}", "{events}", "{seed}"]
events = %d
events_per_job = 1
`, n)
	made, err := serve.Ask(ctx, s.engine.Verbs(), wire.VerbSubmit(), s.caller, wire.SubmitRequest{
		Submit: &wire.Submit{Name: "job.toml", Text: text, BaseDir: s.args.Dir}})
	if err != nil {
		return 0, err
	}
	return made.Submit.ID, nil
}

// counts returns the engine's counts of a grid job.
func (s *site) counts(ctx context.Context, id jjm.GridID) (wire.Counts, error) {
	a, err := serve.Ask(ctx, s.engine.Verbs(), wire.VerbLookup(), s.caller,
		wire.LookupRequest{Many: wire.Refs(id.String())})
	if err != nil {
		return wire.Counts{}, err
	}
	l := a.Lookup[0]
	return l.Counts, l.Error.Err()
}

// errVain is wrapped in the error of a wait that took too long.
var errVain = errors.New("in vain")

// until waits until done returns true. After the time within, which is longer on a slow machine, it returns an error
// that wraps errVain. It returns an error of done or of ctx unchanged.
func until(ctx context.Context, what string, within time.Duration, done func() (bool, error)) error {
	within = await.Provoked(within)
	deadline := time.Now().Add(within)
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v %w: %s", within, errVain, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond): // pause: between two looks
		}
	}
}

// siteProc is the parent's handle of a site that runs in a child process.
type siteProc struct {
	*child
	args siteArgs
	grid jjm.GridID // the large grid job
}

// site returns a site whose local jobs all run. It starts a site only if no site of this size runs.
func (b *bench) site(live, history int) (*siteProc, error) {
	key := siteArgs{Live: live, History: history, Quiet: b.size.quiet}
	if s := b.sites[key]; s != nil {
		return s, nil
	}
	s, err := b.newSite(key)
	if err != nil {
		return nil, err
	}
	b.sites[key] = s
	b.say("  %d local jobs begin to run", live)
	var filled filled
	if err := s.ask("fill", nil, &filled); err != nil {
		return nil, err
	}
	s.grid = filled.Grid
	b.say("  they all run, after %.1f s", filled.Seconds)
	return s, nil
}

// newSite starts a site without live local jobs. args.History is the number of finished local jobs in its store.
func (b *bench) newSite(args siteArgs) (*siteProc, error) {
	var err error
	if args.Dir, err = b.folder("site"); err != nil {
		return nil, err
	}
	if args.Work, err = os.MkdirTemp(b.shared, "work-"); err != nil {
		return nil, err
	}
	args.Wrapper = filepath.Join(b.bin, "jjm-wrapper")
	if args.History > 0 {
		if err := b.buildHistory(filepath.Join(args.Dir, "store.db"), args.History); err != nil {
			return nil, err
		}
	}
	s := &siteProc{args: args}
	if s.child, err = b.child("site"); err != nil {
		return nil, err
	}
	if err := s.ask("begin", args, nil); err != nil {
		return nil, errors.Join(err, s.in.Close(), s.cmd.Wait())
	}
	return s, nil
}

// close ends the site and removes its work area, which takes up memory.
func (s *siteProc) close() error {
	_, err := s.child.close()
	return errors.Join(err, os.RemoveAll(s.args.Work))
}

func (b *bench) closeSites() {
	for key, s := range b.sites {
		if err := s.close(); err != nil {
			b.say("  %v", err)
		}
		delete(b.sites, key)
	}
}
