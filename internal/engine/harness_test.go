package engine_test

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"jjm/handlers"
	handlersall "jjm/handlers/all"
	"jjm/handlers/external"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
	"jjm/internal/storage/highwater"
	"jjm/internal/storage/spool"
	"jjm/internal/storage/store"
	"jjm/internal/sys/fetch"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
	"jjm/xmldb"
)

var (
	admin = wire.Caller{UID: os.Getuid(), GID: os.Getgid(), User: "admin", Admin: true} // sees the jobs of all accounts
	alice = wire.Caller{UID: os.Getuid(), GID: os.Getgid(), User: "alice"}
	bob   = wire.Caller{UID: 70001, GID: 70001, User: "bob"}
)

// TestMain makes the garbage collector run less often. The world of a test (see world) allocates little memory at a
// time, and most of this memory becomes garbage only when the test ends.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// world is the site on which a test runs: simulated batch systems, the work areas, the store, the records, and an
// engine. The engine may be stopped and opened again, like a daemon that is restarted. A world runs in a bubble of
// package synctest, so its time passes without waiting.
type world struct {
	t   *testing.T
	dir string
	sim *adaptertest.Sim
	// adapter passes the engine's calls to the simulated cluster sim, and adds faults.
	adapter *faulty
	more    []*faulty // the adapters of the further clusters
	crash   *crasher
	logs    *logBook
	config  engine.Config
	account *jjm.Owner // the account that all jobs run as; nil: each job runs as its owner
	users   engine.Users
	spool   string // the spool for gatekeepers; "" for none
	chunk   int    // see options
	// lookEvery is the simulated time between two checks of the folders, see newWorld.
	lookEvery time.Duration
	fetch     func(context.Context, fetch.Order) (fetch.Report, error)
	// skew is the difference between the engine's clock and the clock of the bubble, in nanoseconds.
	skew atomic.Int64
	// play returns what an attempt does when it runs; if play is nil, every attempt succeeds.
	play func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play
	// clusters returns the clusters with which an engine is opened.
	clusters func(w *world) []engine.Cluster

	store   *store.Store
	ids     highwater.IDs
	wrapIDs func(base.IDs) base.IDs // see options
	records *xmldb.DB
	engine  *asked
	stop    context.CancelFunc
	ended   chan error // receives the error of Run when it returns

	mu    sync.Mutex
	areas map[string]*sandbox.Area
}

// options are the properties of a test's world. The zero value is one fast cluster without faults.
type options struct {
	sim    adaptertest.SimConfig
	config func(*engine.Config)
	play   func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play
	crash  *crasher
	// hold decides whether the batch system holds an attempt; see SimConfig.
	hold func(id jjm.AttemptID, held int) (code, text string)
	// spool creates a spool in which gatekeepers leave requests for the engine.
	spool bool
	// bare makes simulated wrappers write only their results.
	bare bool
	// account is the account that all jobs run as; if nil, each job runs as its owner.
	account *jjm.Owner
	// more are further simulated clusters. configs are the settings of clusters, by the name of the cluster.
	more    []adaptertest.SimConfig
	configs map[string]engine.ClusterConfig
	// users, if set, replaces the object through which the engine acts with the rights of owners.
	users engine.Users
	// chunk is the number of local jobs or files that one transaction changes; 0 means the daemon's number.
	chunk int
	// fetch replaces the child process that fetches inputs.
	fetch func(context.Context, fetch.Order) (fetch.Report, error)
	// clusters, if set, replaces the single simulated cluster.
	clusters func(w *world) []engine.Cluster
	// ids, if set, wraps the store of the used ids.
	ids func(base.IDs) base.IDs
	// lookEvery is the time between two checks of the folders; 0 means a minute.
	lookEvery time.Duration
}

// inWorld runs a test in a synctest bubble, in a new world whose engine runs. The bubble's clock starts at the present
// time, so that it agrees with the time stamps of files.
func inWorld(t *testing.T, o options, test func(*testing.T, *world)) {
	t.Helper()
	present := time.Now()
	dir := tempDir(t)
	putFreshStore(t, dir)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(present))
		w := newWorld(t, dir, o)
		defer w.close()
		go w.keepTime(t.Context())
		w.open()
		test(t, w)
	})
}

// tempDir returns a folder in memory if possible, because the tests sync to disk some ten thousand times.
func tempDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "jjm-engine-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func newWorld(t *testing.T, dir string, o options) *world {
	w := &world{t: t, dir: dir, crash: o.crash, logs: &logBook{}, config: engine.Defaults(), play: o.play,
		account: o.account, users: o.users, chunk: o.chunk, fetch: o.fetch, wrapIDs: o.ids, areas: map[string]*sandbox.Area{}}
	if w.crash == nil {
		w.crash = &crasher{}
	}
	// Each search for results and each check of the folders costs real time.
	w.config.Harvest, w.lookEvery = jjm.Duration(10*time.Second), cmp.Or(o.lookEvery, time.Minute)
	if o.config != nil {
		o.config(&w.config)
	}
	if w.wrapIDs == nil {
		w.wrapIDs = func(ids base.IDs) base.IDs { return ids }
	}
	w.clusters = o.clusters
	if w.clusters == nil {
		w.clusters = func(w *world) []engine.Cluster { return []engine.Cluster{{Kind: "sim", Adapter: w.adapter}} }
	}
	o.sim.Now = time.Now
	o.sim.Wrapper = &fileClock{w: w, bare: o.bare, carry: o.sim.NoSharedFS}
	o.sim.Play = w.script
	if o.hold != nil {
		o.sim.Hold = w.holds(o.hold)
	}
	w.sim = adaptertest.NewSim(o.sim)
	w.adapter = &faulty{Sim: w.sim, users: map[jjm.Tag]string{}}
	w.adapter.shared = &w.adapter.mu
	for _, c := range o.more {
		c.Now, c.Wrapper, c.Play = time.Now, o.sim.Wrapper, w.script
		w.more = append(w.more, &faulty{Sim: adaptertest.NewSim(c), users: w.adapter.users, shared: &w.adapter.mu})
	}
	if o.clusters == nil && (o.more != nil || o.configs != nil) {
		w.clusters = func(w *world) (all []engine.Cluster) {
			for _, a := range w.adapters() {
				all = append(all, engine.Cluster{Kind: "sim", Adapter: a, Config: o.configs[a.Name()]})
			}
			return all
		}
	}
	if o.spool {
		w.spool = filepath.Join(dir, "spool")
	}
	w.must(spool.Make(filepath.Join(dir, "spool"), 0o600, -1))
	for _, sub := range []string{"work", "records", "drop"} {
		w.must(os.Mkdir(filepath.Join(dir, sub), 0o755))
	}
	w.must(os.WriteFile(filepath.Join(dir, "wrapper"), []byte("#!/bin/false\n"), 0o755))
	return w
}

// adapters returns the adapters of all simulated clusters.
func (w *world) adapters() []*faulty { return append([]*faulty{w.adapter}, w.more...) }

// runs returns how often each attempt ran, on all clusters together.
func (w *world) runs() map[jjm.AttemptID]int {
	all := map[jjm.AttemptID]int{}
	for _, a := range w.adapters() {
		for id, n := range a.Runs() {
			all[id] += n
		}
	}
	return all
}

// keepTime makes the simulated clusters start and end jobs when their time has come, until ctx ends.
func (w *world) keepTime(ctx context.Context) {
	for ctx.Err() == nil {
		d := 15 * time.Second // calls of the engine also make the simulation continue
		for _, a := range w.adapters() {
			a.Step()
			if next, ok := a.Next(); ok {
				d = min(d, max(time.Until(next), 250*time.Millisecond))
			}
		}
		wait(ctx, d)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) now() time.Time {
	return time.Now().Round(0).Add(time.Duration(w.skew.Load()))
}

// setSkew sets the difference between the engine's clock and the clock of the bubble.
func (w *world) setSkew(d time.Duration) { w.skew.Store(int64(d)) }

// open opens the store and an engine, and runs the engine.
func (w *world) open() {
	w.t.Helper()
	var err error
	w.store, err = store.Open(filepath.Join(w.dir, "store.db"), store.Options{Now: w.now, Scratch: true})
	w.must(err)
	w.openIDs()
	w.records, err = xmldb.Open(filepath.Join(w.dir, "records"), xmldb.Options{})
	w.must(err)
	ctx, stop := context.WithCancel(context.Background())
	made, err := engine.New(ctx, w.config, engine.Deps{
		Store: w.store, Records: w.records, Types: types(), Clusters: w.clusters(w),
		SiteFiles: engine.SiteFiles{Model: model, Callbacks: w.fetch != nil},
		Folders: engine.Folders{Work: filepath.Join(w.dir, "work"), RecordDir: filepath.Join(w.dir, "records"),
			SpoolDir: w.spool, DropDir: filepath.Join(w.dir, "drop"), Wrapper: filepath.Join(w.dir, "wrapper"),
			LookEvery: w.lookEvery},
		Accounts: engine.Accounts{Caller: account, Find: find, Account: w.account, Users: w.users},
		Now:      w.now, Log: slog.New(slog.NewTextHandler(w.logs, nil)), Crash: w.crash.at, IDs: w.wrapIDs(w.ids),
		Chunk: w.chunk, Fetch: w.fetch,
	})
	w.must(err)
	w.engine = &asked{made}
	w.engine.TakeIn(ctx)
	w.stop, w.ended = stop, make(chan error, 1)
	go func(e *asked, ended chan error) { ended <- e.Run(ctx) }(w.engine, w.ended)
}

// openIDs opens the file with the highest assigned ids, and checks the store against this file, as the daemon does at
// its start.
func (w *world) openIDs() {
	w.t.Helper()
	path := filepath.Join(w.dir, highwater.File)
	have, err := w.store.Content(context.Background())
	w.must(err)
	mark, err := highwater.Read(path)
	w.must(err)
	record, err := xmldb.Highest(filepath.Join(w.dir, "records"), have.Highest)
	w.must(err)
	w.must(highwater.Fit(have.Identity, have.Highest, highwater.Folder{Mark: mark, Record: record}))
	w.ids.Mark, err = highwater.Open(path, have.Identity, have.Highest)
	w.must(err)
	w.ids.Stamps, err = highwater.Take(have.Identity, have.Highest, []string{w.dir})
	w.must(err)
}

// types returns the built-in job types and two types for tests: filetest, which reads files, and busytest, which runs a
// program.
func types() handlers.Registry {
	r := handlersall.Registry()
	r["filetest"] = fileType{}
	r["busytest"] = external.New("busytest", "/bin/true", func(handlers.Program) (handlers.Ran, error) {
		return handlers.Ran{Stdout: []byte(`{"protocol": 1, "summary": "never ends", "example": "type = \"busytest\""}`)}, nil
	})
	return r
}

// find returns the account for a name: bob, who is also robert and uid 70001; or alice, admin or root, who share one
// uid.
func find(_ context.Context, name string) (jjm.Owner, error) {
	switch strings.ToLower(name) {
	case "bob", "robert", "70001":
		return jjm.Owner{User: "bob", UID: bob.UID, GID: bob.GID}, nil
	case "alice", "admin", "root":
		return jjm.Owner{User: name, UID: alice.UID, GID: alice.GID}, nil
	}
	return jjm.Owner{}, jjm.Errorf(jjm.Invalid, "%q is no account", name)
}

// account returns the caller that stands for the owner of a spool entry.
func account(uid, gid int) wire.Caller {
	if uid == alice.UID {
		return alice
	}
	return wire.Caller{UID: uid, GID: gid, User: "somebody"}
}

// shut ends the engine and closes its files, as if the daemon stopped or died at a failpoint.
func (w *world) shut() {
	if w.engine == nil {
		return
	}
	w.stop()
	<-w.ended
	w.engine = nil
	if err := errors.Join(w.records.Close(), w.ids.Close(), w.store.Close()); err != nil {
		w.t.Error(err)
	}
	w.crash.revive()
}

// reopen starts a new engine with the files of the previous engine, like a restart of the daemon.
func (w *world) reopen() {
	w.t.Helper()
	w.shut()
	w.open()
}

// close stops the engine at the end of the test, and reports errors of the simulation.
func (w *world) close() {
	w.shut()
	for _, a := range w.areas {
		a.Close()
	}
	var troubles []error
	for _, a := range w.adapters() {
		troubles = append(troubles, a.Troubles()...)
	}
	for _, err := range troubles {
		// A job that a search missed may start after its folder was removed. The job then fails, which is no error here.
		if w.adapter.miss.get() == 0 || !errors.Is(err, fs.ErrNotExist) {
			w.t.Error(err)
		}
	}
	if w.t.Failed() {
		w.t.Log("log of the engine:\n" + w.logs.tail(12_000))
	}
}

// area returns the work area of an owner, as wrappers see it.
func (w *world) area(o jjm.Owner) *sandbox.Area {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.areas[o.User]; a != nil {
		return a
	}
	a, err := sandbox.OpenArea(filepath.Join(w.dir, "work", o.User))
	if err != nil {
		panic(err)
	}
	w.areas[o.User] = a
	return a
}

func owner(c wire.Caller) jjm.Owner { return jjm.Owner{UID: c.UID, GID: c.GID, User: c.User} }
