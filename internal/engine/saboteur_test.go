package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// script returns the play for the attempt of a simulated job, from world.play; the zero Play if world.play is nil.
func (w *world) script(job adaptertest.SimJob) adaptertest.Play {
	if w.play == nil {
		return adaptertest.Play{}
	}
	as, err := w.areaOf(job).ReadAssignment(job.Tag, job.Index)
	if err != nil {
		return adaptertest.Play{}
	}
	return w.play(as.AttemptID(), job)
}

// holds returns a function with which the simulated batch system decides whether it holds a job. The function finds the
// job's attempt and calls hold.
func (w *world) holds(hold func(id jjm.AttemptID, held int) (code, text string)) func(adaptertest.SimJob, int) (code,
	text string) {
	return func(job adaptertest.SimJob, held int) (code, text string) {
		as, err := w.areaOf(job).ReadAssignment(job.Tag, job.Index)
		if err != nil {
			panic(err) // the assignment is written before the submission
		}
		return hold(as.AttemptID(), held)
	}
}

// areaOf returns the work area that a job works in, which belongs to the job's owner even if the job runs as another
// account.
func (w *world) areaOf(job adaptertest.SimJob) *sandbox.Area {
	w.adapter.mu.Lock()
	user := w.adapter.users[job.Tag]
	w.adapter.mu.Unlock()
	return w.area(jjm.Owner{User: user})
}

// fileClock plays the wrappers of simulated jobs. When a wrapper puts a result into a folder, fileClock sets the
// folder's time stamp by the bubble's clock, as if the file server used this clock.
type fileClock struct {
	w    *world
	bare bool
	// carry is true if the workers of the simulated cluster do not see the work area: the wrappers then work in a scratch
	// folder, and their results are carried back.
	carry bool
}

func (f *fileClock) wrapper(job adaptertest.SimJob) adaptertest.Wrapper {
	area := f.w.areaOf(job)
	if f.carry {
		return &adaptertest.CarryWrapper{Area: area, Scratch: filepath.Join(f.w.dir, "scratch")}
	}
	return &adaptertest.AreaWrapper{Area: func(jjm.Owner) *sandbox.Area { return area }, Bare: f.bare}
}

func (f *fileClock) Start(job adaptertest.SimJob, at jjm.Time) (jjm.AttemptID, bool, error) {
	return f.wrapper(job).Start(job, at)
}

func (f *fileClock) End(job adaptertest.SimJob, play adaptertest.Play, started, ended jjm.Time) error {
	err := f.wrapper(job).End(job, play, started, ended)
	done := filepath.Join(f.w.areaOf(job).Root(), sandbox.BulkDir(job.Tag), "done")
	return errors.Join(err, os.Chtimes(done, time.Now(), time.Now()))
}

// crasher stops the engine at the nth passage of a failpoint. Until it is revived, every failpoint stops the engine, as
// in a dead process.
type crasher struct {
	mu    sync.Mutex
	point string
	nth   int
	seen  map[string]int
	fired bool
	dead  bool
	// downtime is the time until the daemon is started again.
	downtime time.Duration
	// on, if set, is called at every passage, outside the lock.
	on func(point string)
}

var errKilled = errors.New("killed by the test")

func (c *crasher) at(point string) error {
	c.mu.Lock()
	on := c.on
	c.mu.Unlock()
	if on != nil {
		on(point)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]int{}
	}
	c.seen[point]++
	if point == c.point && c.seen[point] == c.nth && !c.fired {
		c.fired, c.dead = true, true
	}
	if c.dead {
		return fmt.Errorf("%s: %w", point, errKilled)
	}
	return nil
}

// arm stops the engine at the next passage of a failpoint.
func (c *crasher) arm(point string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.point, c.nth, c.fired = point, c.seen[point]+1, false
}

func (c *crasher) revive() {
	c.mu.Lock()
	c.dead = false
	c.mu.Unlock()
}

func (c *crasher) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// faulty is a simulated cluster, with faults that an adapter, not a batch system, can have.
type faulty struct {
	*adaptertest.Sim
	mu sync.Mutex
	// users maps a bulk to the name of the user in whose work area its folder is.
	users map[jjm.Tag]string
	// shared guards users, because several clusters use the same map.
	shared *sync.Mutex
	// miss makes searches wrongly find nothing until the batch system has more than this number of bulks.
	miss fault[int]
	// onList, if set, may change a listing.
	onList fault[func(*adapters.Listing)]
	// onAccount, if set, may change an answer of accounting.
	onAccount fault[func([]adapters.Ref, []jjm.Report) []jjm.Report]
	// onCancel, if set, is called after every cancel.
	onCancel fault[func()]
	// onControl, if set, is called before every Control. If it returns an error of kind Busy, Control fails with that
	// error; any other error becomes the error of each job.
	onControl fault[func(adapters.Op) error]
	// onRefs, if set, is called with the jobs of every Control.
	onRefs fault[func([]adapters.Ref)]
	// onSubmit, if set, is called with every bulk before it is handed over.
	onSubmit fault[func(adapters.Bulk)]
}

// fault is a setting that a test may change while the engine runs.
type fault[T any] struct {
	mu sync.Mutex
	is T
}

func (f *fault[T]) set(to T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.is = to
}

func (f *fault[T]) get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.is
}

// Submit passes the bulk to onSubmit, and then submits it to the simulation.
func (f *faulty) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	f.shared.Lock()
	f.users[b.Tag] = filepath.Base(filepath.Dir(filepath.Dir(b.Dir))) // USER/bulks/TAG
	f.shared.Unlock()
	if on := f.onSubmit.get(); on != nil {
		on(b)
	}
	return f.Sim.Submit(ctx, b)
}

// List returns the listing of the simulation, changed by onList.
func (f *faulty) List(ctx context.Context, o jjm.Owner, since time.Time) (adapters.Listing, error) {
	l, err := f.Sim.List(ctx, o, since)
	if on := f.onList.get(); on != nil {
		on(&l)
	}
	return l, err
}

// Account returns the reports of the simulation, changed by onAccount.
func (f *faulty) Account(ctx context.Context, o jjm.Owner, refs []adapters.Ref) ([]jjm.Report, error) {
	reports, err := f.Sim.Account(ctx, o, refs)
	if on := f.onAccount.get(); on != nil {
		reports = on(refs, reports)
	}
	return reports, err
}

// Control passes the jobs to onRefs before the simulation acts on them. After a cancel it calls onCancel.
func (f *faulty) Control(ctx context.Context, o jjm.Owner, op adapters.Op, refs []adapters.Ref) ([]error, error) {
	if on := f.onRefs.get(); on != nil {
		on(refs)
	}
	if on := f.onControl.get(); on != nil {
		if err := on(op); jjm.KindOf(err) == jjm.Busy {
			return nil, err
		} else if err != nil {
			return slices.Repeat([]error{err}, len(refs)), nil
		}
	}
	answers, err := f.Sim.Control(ctx, o, op, refs)
	if on := f.onCancel.get(); op == adapters.Cancel && on != nil {
		on()
	}
	return answers, err
}

// Find returns Absent for all tags until the simulation has more than miss bulks.
func (f *faulty) Find(ctx context.Context, o jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	if f.Calls().Bulks > f.miss.get() {
		return f.Sim.Find(ctx, o, tags)
	}
	found := make([]adapters.Found, len(tags))
	for i, tag := range tags {
		found[i] = adapters.Found{Tag: tag, Presence: adapters.Absent}
	}
	return found, nil
}

// logBook keeps the log of the engine.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

func (l *logBook) tail(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.b.String()
	return s[max(0, len(s)-n):]
}
