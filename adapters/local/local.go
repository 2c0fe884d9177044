// Package local is jjm's own batch system for one machine. It is the default cluster if there is no other batch system.
//
// Submit is a single durable act. Jobs wait in a spool and start when cores become free. The jobs of one account start
// in the order of their submission. The account with the fewest cores in use is next (see whoseTurn). Jobs run
// detached, each in a separate session, and continue when the daemon ends or dies. After a restart the daemon finds the
// running jobs again. For jobs that ended meanwhile it reads the records that these jobs wrote at their end.
//
// # The spool
//
//	spool/lock           held by the one daemon that may use the spool
//	spool/next           the next id, written when an entry is removed
//	spool/17/bulk.json   a bulk; complete and durable if the folder has this name
//	spool/17/log         the events of its jobs, one line each (see log.go)
//	spool/17/locks       byte n is locked as long as a process of job n is alive
//	spool/17/end/3       the end record that job 3 wrote, if any
//	spool/17.bad         an unreadable entry, kept for people
//
// The lock on a byte of spool/17/locks is an open file description lock (fcntl(2)). It belongs to a descriptor that the
// job inherits. The kernel therefore releases the lock when the last process of the job with that descriptor ends, for
// any reason.
//
// # Guarantees
//
// A kill -9 of the daemon at any instruction loses no job and causes no wrong report of an end. Before a job is
// started, a line in the log announces the start. If a crash leaves only this line of a job, without a process and an
// end record, the job is started again with a greater restart count. Nothing else causes a second start, and the claim
// of jjm's wrapper makes a second start harmless.
//
// The log is synced to disk only when waiting jobs are cancelled: after a loss of power, jobs of the last seconds may
// be started again in the same way.
//
// A cancel is final when Control has returned: a job that waited never starts, and a job that was being started has
// received its TERM.
//
// Jobs of other owners start as processes of root, change to their owner's account in a separate program, and open
// their folder and log themselves (package run). An owner may stop or kill such a process at any moment, or serve these
// folders from a file system of the owner, without delaying the jobs of other owners.
//
// # Limitations
//
// The adapter does not limit memory. Users who are known only to a directory service need a jjm that is built with cgo;
// otherwise their jobs get no supplementary groups.
package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// MaxBulk is the largest number of jobs in one bulk.
const MaxBulk = 1000

// Config is the section of a cluster of kind "local".
type Config struct {
	// Slots is the largest number of cores that jobs use at the same time; 0 means the number of CPUs of the machine.
	// Lower it if the machine has other work.
	Slots int `toml:"slots"`
	// Keep is the time for which ended jobs stay known. It must exceed the longest time for which jjm may be down;
	// otherwise the ends of jobs are lost.
	Keep jjm.Duration `toml:"keep"`
	// Grace is the time between TERM and KILL for a job that is cancelled or over its walltime. The grace time of the
	// application (20 s by default) must be shorter; otherwise the wrapper is killed before it can report.
	Grace jjm.Duration `toml:"grace"`
}

// DefaultConfig returns the defaults: all CPUs, 24 hours, 30 seconds.
func DefaultConfig() Config {
	return Config{Keep: jjm.Duration(24 * time.Hour), Grace: jjm.Duration(30 * time.Second)}
}

// Adapter is the batch system of this machine.
type Adapter struct {
	// Crash is called at named points, at which tests end the daemon: local.spooled, local.marked, local.started,
	// local.recorded, local.ended, local.closed, local.withdrawn, local.cancelling, local.purging. It is nil in
	// production and must be set before Run.
	Crash func(point string)
	// Sync writes a file or folder to disk, to survive a loss of power. It is (*os.File).Sync; another function must be
	// set before Run.
	Sync func(*os.File) error

	name   string
	config Config
	env    adapters.Env
	dir    string // path of the spool folder
	host   string
	boot   string // id of this boot of the machine
	uid    int
	null   *os.File
	lock   *os.File

	submitting chan struct{} // capacity 1; full during a Submit
	wake       chan struct{} // notifies Run of work
	changed    chan struct{} // notifies that a listing would differ
	ends       chan ending   // ended processes

	killing  sync.Mutex     // held during a search for the remaining processes of a job
	removing sync.WaitGroup // removals of folders

	mu          sync.Mutex // guards the fields below, and the bulks
	closed      bool
	next        int64 // next id of a bulk
	bulks       map[int64]*bulk
	order       []*bulk // bulks in the order of their ids
	tags        map[jjm.Tag]*bulk
	damaged     []aside
	queues      map[int]*queue // by account: queues of accounts that had jobs here
	started     int64          // number of jobs started so far
	starting    *proc          // job that is being started; nil for none
	startOver   *sync.Cond     // signals, with mu, that a start is over
	procs       map[*proc]struct{}
	unwritten   map[*bulk]struct{} // bulks with lines that could not be written yet
	free        int                // number of cores that no job uses
	pause       time.Time          // no job starts before this time, because the machine had trouble
	purge       time.Time          // time of the next purge
	due         time.Time          // time of the next tick
	pausedUntil map[int]time.Time  // by account: its jobs do not start before this time
	trouble     map[string]string  // last warning by subject (see warn)
}

var (
	_ adapters.Adapter = (*Adapter)(nil)
	_ adapters.Runner  = (*Adapter)(nil)
	_ adapters.Watcher = (*Adapter)(nil)
)

// Make is the constructor for adapters.Registry.
func Make(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	c := DefaultConfig()
	if err := decode(&c); err != nil {
		return nil, err
	}
	return New(name, env, c)
}

// New opens the spool below env.State, which must be on a local disk, and creates the spool if it is missing. It
// returns an error of kind Conflict if another process uses the spool. It sets damaged entries aside with a warning. No
// job starts before Run.
func New(name string, env adapters.Env, c Config) (*Adapter, error) {
	if ps := c.Check(name, env); len(ps) > 0 {
		return nil, ps.Err()
	}
	if !filepath.IsAbs(env.State) {
		return nil, jjm.Errorf(jjm.Invalid, "cluster %s: state folder %q: want an absolute path", name, env.State)
	}
	if c.Slots == 0 {
		c.Slots = runtime.NumCPU()
	}
	env = env.Whole()
	a := &Adapter{
		Sync: (*os.File).Sync,
		name: name, config: c, env: env, uid: os.Geteuid(), free: c.Slots, next: 1,
		dir:        filepath.Join(env.State, "spool"),
		boot:       bootID(),
		submitting: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		changed: make(chan struct{}, 1), ends: make(chan ending, 64),
		bulks: map[int64]*bulk{}, tags: map[jjm.Tag]*bulk{},
		procs: map[*proc]struct{}{}, unwritten: map[*bulk]struct{}{}, trouble: map[string]string{},
		pausedUntil: map[int]time.Time{}, queues: map[int]*queue{},
	}
	a.startOver = sync.NewCond(&a.mu)
	if err := a.open(); err != nil {
		a.Close()
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return a, nil
}

// Check implements adapters.Checked.
func (c Config) Check(name string, _ adapters.Env) jjm.Problems {
	var ps jjm.Problems
	bad := func(field, text string) {
		ps = append(ps, jjm.Problem{Where: "cluster " + name, Field: field, Text: text})
	}
	if c.Slots < 0 || c.Slots > 1<<16 {
		bad("slots", fmt.Sprintf("%d: want a number of cores, or 0 for all CPUs", c.Slots))
	}
	if c.Keep < jjm.Duration(time.Minute) {
		bad("keep", fmt.Sprintf("%v: want at least 1m, so that jjm sees how jobs ended", c.Keep))
	}
	if c.Grace < 0 || c.Grace > jjm.Duration(time.Hour) {
		bad("grace", fmt.Sprintf("%v: want at most 1h", c.Grace))
	}
	return ps
}

// open locks the spool for this process and loads it.
func (a *Adapter) open() (err error) {
	if _, err := readStat(os.Getpid()); err != nil || a.boot == "" {
		return jjm.Errorf(jjm.Invalid, "read about processes; mount /proc: %w", errors.Join(err, os.ErrNotExist))
	}
	if a.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return err
	}
	if a.host, err = os.Hostname(); err != nil {
		return err
	}
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return jjm.Errorf(jjm.Busy, "make the spool: %w", err)
	}
	if err := a.openToOwners(a.dir); err != nil {
		return err
	}
	if a.lock, err = lockSpool(filepath.Join(a.dir, "lock")); err != nil {
		return err
	}
	return a.loadSpool()
}

// Close closes the spool; running jobs continue. Afterwards every method returns an error of kind Busy. Run closes the
// adapter when it returns; Close is for an adapter that never ran, and may be called repeatedly.
func (a *Adapter) Close() error {
	a.submitting <- struct{}{} // waits for a running Submit
	defer func() { <-a.submitting }()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	for _, b := range a.order {
		b.closeFiles()
	}
	for _, f := range []*os.File{a.lock, a.null} {
		if f != nil {
			f.Close()
		}
	}
	return nil
}

// Name returns the cluster's name.
func (a *Adapter) Name() string { return a.name }

// Capabilities returns the capabilities of this machine.
func (a *Adapter) Capabilities() adapters.Capabilities {
	return adapters.Capabilities{
		MaxBulk: MaxBulk, SharedFS: true, Accounting: true, FinalCancel: true, OneHost: true,
		Guarantee: "exactly once: a tag names one spool entry, which exists as a whole or not at all; " +
			"a job whose start was cut off by a crash is started again under the same claim",
		Slots: a.config.Slots, MaxCores: a.config.Slots,
	}
}

// Changed returns a channel that receives a value when a listing would differ.
func (a *Adapter) Changed() <-chan struct{} { return a.changed }

func (a *Adapter) crashPoint(name string) {
	if a.Crash != nil {
		a.Crash(name)
	}
}

// notify wakes the reader of a channel of capacity 1.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// warn logs an error about a subject if the error differs from that of the last call. If err is nil after an error,
// warn logs that the trouble is over. The caller holds a.mu.
func (a *Adapter) warn(about string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if a.trouble[about] == text {
		return
	}
	if text == "" {
		delete(a.trouble, about)
		a.env.Warn("trouble is over", "about", about)
		return
	}
	a.trouble[about] = text
	a.env.Warn("trouble", "about", about, "error", text)
}

// errClosed returns an error if the adapter is closed. The caller holds a.mu.
func (a *Adapter) errClosed() error {
	if a.closed {
		return jjm.Errorf(jjm.Busy, "cluster %s: the adapter has been closed", a.name)
	}
	return nil
}
