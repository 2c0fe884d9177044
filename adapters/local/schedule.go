package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"jjm"
	"jjm/run"
)

// ending is a process that ended.
type ending struct {
	p   *proc
	ws  syscall.WaitStatus
	ru  *syscall.Rusage
	err error // run.ErrNotChild: ended, and how is not known
	// start is why the command was never executed, of kind Busy or Invalid.
	start error
}

// Run takes up the jobs that run since before, starts those that wait, and
// notices the end of all, until ctx ends. It leaves running jobs alone and
// closes the adapter.
func (a *Adapter) Run(ctx context.Context) error {
	a.mu.Lock()
	err := a.gone()
	a.purge = a.env.Now().Add(min(firstPurge, a.config.Keep.D()))
	a.due = a.purge
	a.mu.Unlock()
	if err != nil {
		return err
	}
	var watchers sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		a.letGo()
		watchers.Wait()
		a.Close()
	}()

	a.takeUp(ctx, &watchers)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for ctx.Err() == nil && a.startNext(ctx, &watchers) {
			a.drain()
		}
		timer.Reset(a.tick(ctx, &watchers))
		select {
		case <-ctx.Done():
			return nil
		case <-a.wake:
		case <-timer.C:
		case e := <-a.ends:
			a.end(e)
			a.drain()
		}
	}
}

// drain handles the ends that are there.
func (a *Adapter) drain() {
	for {
		select {
		case e := <-a.ends:
			a.end(e)
		default:
			return
		}
	}
}

// letGo stops the waiting for all processes.
func (a *Adapter) letGo() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range a.procs {
		if p.p != nil {
			p.p.Close()
		}
	}
}

// watch waits for the end of a process, in a goroutine that costs no thread.
func (a *Adapter) watch(ctx context.Context, watchers *sync.WaitGroup, p *proc) {
	watchers.Add(1)
	process := p.p
	go func() {
		defer watchers.Done()
		start := a.begun(p.b, process)
		if errors.Is(start, os.ErrClosed) {
			return
		}
		ws, ru, err := process.Wait()
		if errors.Is(err, os.ErrClosed) {
			return
		}
		// Processes that it left behind would use cores that are given to others,
		// and would write beside the next attempt. To find them takes as long as
		// there are processes: here, where nobody waits.
		if a.heldNow(p) {
			a.killRest(p)
		}
		select {
		case a.ends <- ending{p: p, ws: ws, ru: ru, err: err, start: start}:
		case <-ctx.Done():
		}
	}()
}

// begun waits until a process is its command: as long as its account likes, who may
// stop it, which makes it a job that does nothing, like any other that is stopped.
func (a *Adapter) begun(b *bulk, process *run.Process) error {
	trouble, err := process.Begun()
	a.mu.Lock()
	defer a.mu.Unlock()
	if trouble != nil {
		a.warn("log files", trouble)
	}
	if err == nil {
		a.warn("starting jobs of "+b.Owner.User, nil)
		delete(a.rests, b.Owner.UID)
	}
	return err
}

// startNext starts the job whose turn it is, if cores are free for it. It
// reports whether it did, or whether the next one may be tried all the same.
func (a *Adapter) startNext(ctx context.Context, watchers *sync.WaitGroup) bool {
	p, lock := a.mark()
	if p == nil {
		return false
	}
	a.point("local.marked")
	process, err := a.launch(p, lock)
	lock.Close()
	a.point("local.started")

	a.mu.Lock()
	defer a.mu.Unlock()
	b, pos := p.b, p.pos
	switch {
	case jjm.KindOf(err) == jjm.Busy:
		a.warn("starting jobs", err)
		a.pauseFor(retryStart)
		a.back(p)
		return false
	case err != nil:
		a.conclude(p, unstarted(err, jjm.At(a.env.Now())))
		return true
	}
	a.warn("starting jobs", nil)
	p.p, p.pid, p.born[1] = process, process.PID, sinceBoot()
	a.write(b, linePID(pos, p.pid, p.born[1]))
	a.point("local.recorded")
	b.set(pos, jjm.BatchRunning)
	if b.jobs[pos].asked&toCancel != 0 { // while it was being started
		a.terminate(p)
	}
	a.watch(ctx, watchers, p)
	poke(a.changed)
	return true
}

// back has a job wait again that could not be started. The caller holds a.mu.
func (a *Adapter) back(p *proc) {
	b, pos := p.b, p.pos
	a.write(b, lineOf("back", pos))
	a.forget(p)
	b.jobs[pos].started = 0
	b.set(pos, jjm.BatchQueued)
	a.enqueue(b)
}

// unbegun settles a job whose process never became its command. What is Busy lies
// with its account, that has all the processes that it may have: the account waits for
// a while, and others do not.
func (a *Adapter) unbegun(e ending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, now := e.p.b, a.env.Now()
	if jjm.KindOf(e.start) != jjm.Busy || b.jobs[e.p.pos].asked != 0 {
		a.conclude(e.p, unstarted(e.start, jjm.At(now)))
		return
	}
	a.warn("starting jobs of "+b.Owner.User, e.start)
	a.back(e.p)
	a.rests[b.Owner.UID] = now.Add(retryStart)
	a.soon(a.rests[b.Owner.UID])
	b.idle()
	poke(a.changed)
}

// mark says in the log that the next job will be started, takes cores and its
// lock. It gives nil if none can start now.
func (a *Adapter) mark() (*proc, *os.File) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.env.Now()
	b := a.turn(now)
	if a.closed || b == nil || b.need > a.free || now.Before(a.pause) {
		return nil, nil
	}
	pos := b.first()
	j := &b.jobs[pos]
	p := &proc{b: b, pos: pos, boot: a.boot, born: [2]int64{sinceBoot(), 0}}
	err := b.append(false, lineRun(pos, j.restarts, jjm.At(now), p.born[0]))
	var lock *os.File
	if err == nil {
		if lock, err = a.ready(b, pos); err != nil {
			a.write(b, lineOf("back", pos))
		}
	}
	a.warn("marking jobs", err)
	if err != nil {
		a.pauseFor(retryStart)
		return nil, nil
	}
	j.started = jjm.At(now)
	if w := b.Request.Walltime.D(); w > 0 {
		p.deadline = j.started.Add(w)
		a.soon(p.deadline.Time())
	}
	b.procs[pos] = p
	a.procs[p] = struct{}{}
	a.free -= b.need
	b.set(pos, jjm.BatchStarting)
	return p, lock
}

// ready makes what a job of the bulk needs besides itself.
func (a *Adapter) ready(b *bulk, pos int32) (lock *os.File, err error) {
	if err := b.makeEnd(a.uid == 0); err != nil {
		return nil, err
	}
	if b.who == nil {
		b.who = whoIs(b.Owner, a.uid)
		if b.who.as != nil {
			a.warn("end records", passable(b.dir))
		}
	}
	if b.out == nil && b.Log != "" && b.who.as == nil {
		// Its loss is no reason not to run: nothing of the application's passes here.
		var err error
		if b.out, err = openLog(b.Log); err != nil {
			a.warn("log files", err)
		}
	}
	return b.takeLock(pos)
}

// launch starts the process.
func (a *Adapter) launch(p *proc, lock *os.File) (*run.Process, error) {
	b := p.b
	out := b.out
	if out == nil {
		out = a.null
	}
	env := make([]string, 0, len(b.who.env)+4)
	env = append(env, b.who.env...)
	env = append(env,
		"JJM_INDEX="+strconv.Itoa(int(p.pos)),
		"JJM_BATCH_ID="+b.name(p.pos),
		"JJM_SPOOL_END="+b.endRecord(p.pos),
		"JJM_RESTARTS="+strconv.Itoa(int(b.jobs[p.pos].restarts)))
	return run.Detach(run.Detached{
		Argv: b.Argv, Dir: b.Dir, Env: env, Stdin: a.null, Stdout: out, Stderr: out,
		Extra: []*os.File{lock}, As: b.who.as, Log: b.Log,
	})
}

// unstarted is the end of a job whose command cannot be started: 127 if it is
// not there, else 126, as a shell has it.
func unstarted(err error, now jjm.Time) job {
	exit := uint8(126)
	if errors.Is(err, os.ErrNotExist) {
		exit = 127
	}
	return job{state: jjm.BatchEndedFailed, exit: exit, ended: now,
		reason: fmt.Sprintf("it could not be started: %.300v", err)}
}

// write writes lines about what has happened; what the disk refuses is kept and
// tried again. The caller holds a.mu.
func (a *Adapter) write(b *bulk, lines ...[]byte) {
	err := b.append(true, lines...)
	a.warn("writing "+filepath.Base(b.dir)+"/log", err)
	if err != nil {
		a.unsaved[b] = struct{}{}
		a.soon(a.env.Now().Add(retryDisk))
	} else {
		delete(a.unsaved, b)
	}
}

// forget drops a process that is no more, and gives its cores back. The caller
// holds a.mu.
func (a *Adapter) forget(p *proc) {
	if p.b.procs[p.pos] != p {
		return
	}
	delete(p.b.procs, p.pos)
	delete(a.procs, p)
	a.free += p.b.need
	if p.p != nil {
		p.p.Close()
	}
}
