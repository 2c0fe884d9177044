// Package local is jjm's own batch system for one machine: the default cluster
// where no other exists.
//
// It is a real one. Submit is a single durable act; jobs wait in a spool and
// start in the order of their submission as cores become free; they run
// detached, in sessions of their own, so that neither the end nor the death of
// the daemon touches them; after a restart the running ones are found again and
// the end of those that ended meanwhile is read from the record they left.
//
// # The spool
//
//	spool/lock           held by the one daemon that may use the spool
//	spool/next           the next id, written when an entry is removed
//	spool/17/bulk.json   a bulk; complete and durable once the folder has this name
//	spool/17/log         what happened to its jobs, a line each (see log.go)
//	spool/17/locks       byte n is locked as long as a process of job n lives
//	spool/17/end/3       the end record that job 3 wrote itself, if it did
//	spool/17.bad         an entry that could not be read, set aside for people
//
// The lock is an open file description lock (fcntl(2)): a descriptor inherited
// by the job carries it, so it is freed by the kernel when the last process of
// the job that holds the descriptor ends, whatever ended it.
//
// # What it promises
//
// A kill -9 of the daemon at any instruction loses no job and reports no wrong
// end. Before a job is started, a line in the log says that it will be; a job
// of which only this is known, with no process and no end record, is started
// again with a greater restart count, and the claim that jjm's wrapper takes
// makes a second run harmless. That is the only way to a second start.
//
// The log is not synced to disk: after a loss of power jobs of the last seconds
// may be started again in the same way.
//
// Jobs of other owners start as root's, become their owner's in a program of their
// own, and open their folder and log by themselves (package run): an owner may stop
// or kill them at any moment, and serve those folders himself, and holds up nobody
// else's.
//
// # What it leaves to others
//
// Memory is not limited. Users who are known only to a directory service need a
// jjm that is built with cgo, or their jobs get no supplementary groups.
package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"jjm"
	"jjm/adapters"
)

// MaxBulk is the most jobs in one bulk.
const MaxBulk = 1000

// Config is the section of a cluster of kind "local".
type Config struct {
	// Slots is how many cores jobs may use at once; 0 means the machine's
	// number of CPUs. Lower it where the machine does other work.
	Slots int `toml:"slots"`
	// Keep is how long ended jobs stay known. It must exceed the longest time
	// for which jjm may be down, or the ends of those jobs are lost.
	Keep jjm.Duration `toml:"keep"`
	// Grace is the time between TERM and KILL for a job that is cancelled or
	// over its walltime. The grace that the wrapper gives the application (20 s
	// by default) must be shorter, or the wrapper dies before it can report.
	Grace jjm.Duration `toml:"grace"`
}

// DefaultConfig returns the defaults: all CPUs, 24 hours, 30 seconds.
func DefaultConfig() Config {
	return Config{Keep: jjm.Duration(24 * time.Hour), Grace: jjm.Duration(30 * time.Second)}
}

// Adapter is the batch system of this machine.
type Adapter struct {
	// Crash is called at named points, for tests that end the daemon there:
	// local.spooled, local.marked, local.started, local.recorded, local.ended,
	// local.closed, local.cancelling, local.purging. Nil in production; set
	// before Run.
	Crash func(point string)

	name   string
	config Config
	env    adapters.Env
	dir    string // the spool
	host   string
	boot   string // this boot of the machine
	uid    int
	null   *os.File
	lock   *os.File

	submitting chan struct{} // held by the one Submit that writes
	wake       chan struct{} // something for Run to do
	changed    chan struct{} // something for a listing to show
	ends       chan ending   // processes that ended

	killing  sync.Mutex     // held while what is left of a job is looked for
	clearing sync.WaitGroup // of what is being removed

	mu      sync.Mutex // guards what follows, and the bulks
	closed  bool
	next    int64 // the next id
	bulks   map[int64]*bulk
	order   []*bulk // by id
	tags    map[jjm.Tag]*bulk
	waiting []*bulk // those with queued jobs, by id; others may be among them
	procs   map[*proc]struct{}
	unsaved map[*bulk]struct{} // those with lines that the disk refused
	free    int                // cores
	pause   time.Time          // no start before this, after trouble of the machine
	purge   time.Time          // when to look for old entries next
	due     time.Time          // when the clock matters next
	rests   map[int]time.Time  // accounts, and until when none of their jobs starts
	trouble map[string]string  // what was warned of last, by what it is about
}

var (
	_ adapters.Adapter = (*Adapter)(nil)
	_ adapters.Runner  = (*Adapter)(nil)
	_ adapters.Watcher = (*Adapter)(nil)
)

// Make is the entry for a Registry.
func Make(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	c := DefaultConfig()
	if err := decode(&c); err != nil {
		return nil, err
	}
	return New(name, env, c)
}

// New opens the spool below env.State, which must be on a local disk, and makes
// it if it is missing. It fails with kind Conflict when another process uses
// the spool. Damaged entries are set aside with env.Warn. Nothing runs before
// Run does.
func New(name string, env adapters.Env, c Config) (*Adapter, error) {
	if err := c.check(name); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(env.State) {
		return nil, jjm.Errorf(jjm.Invalid, "cluster %s: state folder %q: want an absolute path", name, env.State)
	}
	if c.Slots == 0 {
		c.Slots = runtime.NumCPU()
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	if env.Warn == nil {
		env.Warn = func(string, ...any) {}
	}
	a := &Adapter{
		name: name, config: c, env: env, uid: os.Geteuid(), free: c.Slots, next: 1,
		dir:        filepath.Join(env.State, "spool"),
		boot:       bootID(),
		submitting: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		changed: make(chan struct{}, 1), ends: make(chan ending, 64),
		bulks: map[int64]*bulk{}, tags: map[jjm.Tag]*bulk{},
		procs: map[*proc]struct{}{}, unsaved: map[*bulk]struct{}{}, trouble: map[string]string{}, rests: map[int]time.Time{},
	}
	if err := a.open(); err != nil {
		a.Close()
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	return a, nil
}

func (c Config) check(name string) error {
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
	return ps.Err()
}

// open takes the spool for this process and reads it.
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
	return a.load()
}

// Close returns the spool up; running jobs go on. Every method answers Busy from
// then on. Run closes the adapter when it returns; Close is for one that never
// ran, and may be called again.
func (a *Adapter) Close() error {
	a.submitting <- struct{}{} // a Submit under way ends first
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

// Name is the cluster's name.
func (a *Adapter) Name() string { return a.name }

// Capabilities says what this machine can do.
func (a *Adapter) Capabilities() adapters.Capabilities {
	return adapters.Capabilities{
		MaxBulk: MaxBulk, SharedFS: true, Accounting: true,
		Guarantee: "exactly once: a tag names one spool entry, which exists as a whole or not at all; " +
			"a job whose start was cut off by a crash is started again under the same claim",
		Slots: a.config.Slots, MaxCores: a.config.Slots,
	}
}

// Changed tells when a listing would differ.
func (a *Adapter) Changed() <-chan struct{} { return a.changed }

func (a *Adapter) point(name string) {
	if a.Crash != nil {
		a.Crash(name)
	}
}

// poke wakes the reader of a channel of capacity 1.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// warn reports trouble once until it changes or is over; "" for what is over.
// The caller holds a.mu.
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
		a.env.Warn("it is well again", "about", about)
		return
	}
	a.trouble[about] = text
	a.env.Warn("trouble", "about", about, "error", text)
}

// gone is the answer of a closed adapter. The caller holds a.mu.
func (a *Adapter) gone() error {
	if a.closed {
		return jjm.Errorf(jjm.Busy, "cluster %s: the adapter has been closed", a.name)
	}
	return nil
}
