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

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// ending describes the end of a process.
type ending struct {
	p   *proc
	ws  syscall.WaitStatus
	ru  *syscall.Rusage
	err error // run.ErrNotChild if the process ended in an unknown way
	// start is the error that prevented the execution of the command, of kind Busy or Invalid; nil if the command was
	// executed.
	start error
}

// Run recovers the jobs that an earlier daemon started, starts waiting jobs, and handles the ends of all jobs. When ctx
// ends, Run closes the adapter and returns; running jobs continue.
func (a *Adapter) Run(ctx context.Context) error {
	a.mu.Lock()
	err := a.errClosed()
	a.purge = a.env.Now().Add(min(firstPurge, a.config.Keep.D()))
	a.due = a.purge
	if len(a.unwritten) > 0 {
		a.wakeBy(a.env.Now())
	}
	a.mu.Unlock()
	if err != nil {
		return err
	}
	var watchers sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		a.stopWatching()
		watchers.Wait()
		a.Close()
	}()

	a.recoverAll(ctx, &watchers)
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

// drain handles all ends in the channel.
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

// stopWatching stops waiting for the ends of all processes.
func (a *Adapter) stopWatching() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range a.procs {
		if p.p != nil {
			p.p.Close()
		}
	}
}

// watch waits for the end of a process in a goroutine that occupies no thread.
func (a *Adapter) watch(ctx context.Context, watchers *sync.WaitGroup, p *proc) {
	watchers.Add(1)
	process := p.p
	go func() {
		defer watchers.Done()
		start := a.awaitStart(p.b, process)
		if errors.Is(start, os.ErrClosed) {
			return
		}
		ws, ru, err := process.Wait()
		if errors.Is(err, os.ErrClosed) {
			return
		}
		// Remaining processes would use cores of the next jobs, and would write to the files of the next attempt. The
		// search takes long if the machine has many processes; no caller waits for this goroutine.
		if a.lockHeld(p) {
			a.killRest(p)
		}
		select {
		case a.ends <- ending{p: p, ws: ws, ru: ru, err: err, start: start}:
		case <-ctx.Done():
		}
	}()
}

// awaitStart waits until a process executes the job's command. It returns an error if the command cannot be executed.
// The account of the job can stop the process and so delay the return, which affects only jobs of that account.
func (a *Adapter) awaitStart(b *bulk, process *run.Process) error {
	trouble, err := process.AwaitStart()
	a.mu.Lock()
	defer a.mu.Unlock()
	if trouble != nil {
		a.warn("log files", trouble)
	}
	if err == nil {
		a.warn("starting jobs of "+b.Owner.User, nil)
		delete(a.pausedUntil, b.Owner.UID)
	}
	return err
}

// startNext starts the next job if enough cores are free. It reports whether to try the next job immediately.
func (a *Adapter) startNext(ctx context.Context, watchers *sync.WaitGroup) bool {
	p, lock := a.markNext()
	if p == nil {
		return false
	}
	defer a.startIsOver()
	a.crashPoint("local.marked")
	process, err := a.launch(p, lock)
	lock.Close()
	a.crashPoint("local.started")

	a.mu.Lock()
	defer a.mu.Unlock()
	b, pos := p.b, p.pos
	switch {
	case (jjm.KindOf(err) == jjm.Busy || a.unmounted(err)) && b.jobs[pos].endAsked == 0:
		a.warn("starting jobs", err)
		a.pauseFor(retryStart)
		a.requeue(p)
		return false
	case err != nil:
		a.conclude(p, startFailed(err, jjm.At(a.env.Now())))
		return true
	}
	a.warn("starting jobs", nil)
	p.p, p.pid, p.born[1] = process, process.PID, sinceBoot()
	a.write(b, linePID(pos, p.pid, p.born[1]))
	a.crashPoint("local.recorded")
	b.set(pos, jjm.BatchRunning)
	if b.jobs[pos].endAsked&byCancel != 0 { // the job was cancelled during its start
		a.terminate(p)
	}
	a.watch(ctx, watchers, p)
	notify(a.changed)
	return true
}

// startIsOver wakes the callers that wait for the end of the current start.
func (a *Adapter) startIsOver() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.starting = nil
	a.startOver.Broadcast()
}

// requeue returns a job that could not be started to the waiting jobs. The caller holds a.mu.
func (a *Adapter) requeue(p *proc) {
	b, pos := p.b, p.pos
	a.write(b, lineOf("back", pos))
	a.forget(p)
	b.jobs[pos].started = 0
	b.set(pos, jjm.BatchQueued)
	a.enqueue(b)
}

// notStarted handles a job whose process never executed the command. An error of kind Busy means that the account has
// reached its limit of processes. The account's jobs then wait for a while; jobs of other accounts continue to start.
func (a *Adapter) notStarted(e ending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, now := e.p.b, a.env.Now()
	if jjm.KindOf(e.start) != jjm.Busy && !a.unmounted(e.start) || b.jobs[e.p.pos].endAsked != 0 {
		a.conclude(e.p, startFailed(e.start, jjm.At(now)))
		return
	}
	a.warn("starting jobs of "+b.Owner.User, e.start)
	a.requeue(e.p)
	a.pausedUntil[b.Owner.UID] = now.Add(retryStart)
	a.wakeBy(a.pausedUntil[b.Owner.UID])
	b.idle()
	notify(a.changed)
}

// markNext writes to the log that the next job is about to start, and takes the job's cores and lock. It returns the
// job and a descriptor that holds the lock, or nil if no job can start now.
func (a *Adapter) markNext() (*proc, *os.File) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.env.Now()
	if a.closed || now.Before(a.pause) {
		return nil, nil
	}
	b, passed := a.nextBulk(now)
	if b == nil {
		return nil, nil
	}
	pos := b.first()
	j := &b.jobs[pos]
	p := &proc{b: b, pos: pos, boot: a.boot, born: [2]int64{sinceBoot(), 0}}
	err := b.append(false, lineRun(pos, j.restarts, jjm.At(now), p.born[0]))
	var lock *os.File
	if err == nil {
		if lock, err = a.prepare(b, pos); err != nil {
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
		a.wakeBy(p.deadline.Time())
	}
	b.procs[pos] = p
	a.procs[p] = struct{}{}
	a.served(b, passed)
	b.set(pos, jjm.BatchStarting)
	a.starting = p
	return p, lock
}

// prepare creates the folder of end records, the identity and the log of a bulk, unless they exist, and returns a
// descriptor that holds the lock of the job.
func (a *Adapter) prepare(b *bulk, pos int32) (lock *os.File, err error) {
	if err := b.makeEnd(a.uid == 0); err != nil {
		return nil, err
	}
	if b.identity == nil {
		b.identity = lookUp(b.Owner, a.uid)
		if b.identity.as != nil {
			a.warn("end records", checkPassable(b.dir))
		}
	}
	if b.out == nil && b.Log != "" && b.identity.as == nil {
		// If the log cannot be opened, the job runs without it, because the application writes its output elsewhere.
		var err error
		if b.out, err = openLog(b.Log); err != nil {
			a.warn("log files", err)
		}
	}
	return b.takeLock(pos)
}

// launch starts the process of a job.
func (a *Adapter) launch(p *proc, lock *os.File) (*run.Process, error) {
	b := p.b
	out := b.out
	if out == nil {
		out = a.null
	}
	env := make([]string, 0, len(b.identity.env)+4)
	env = append(env, b.identity.env...)
	env = append(env,
		"JJM_INDEX="+strconv.Itoa(int(p.pos)),
		"JJM_BATCH_ID="+b.name(p.pos),
		"JJM_SPOOL_END="+b.endRecord(p.pos),
		"JJM_RESTARTS="+strconv.Itoa(int(b.jobs[p.pos].restarts)))
	return run.Detach(run.Detached{
		Argv: b.Argv, Dir: b.Dir, Env: env, Stdin: a.null, Stdout: out, Stderr: out,
		Extra: []*os.File{lock}, As: b.identity.as, Log: b.Log,
	})
}

// unmounted reports whether err says that a command or folder does not exist and the reason is that the file system of
// the jobs is not mounted. The job then waits instead of failing, because it did not cause the error.
func (a *Adapter) unmounted(err error) bool {
	return errors.Is(err, os.ErrNotExist) && a.env.Unmounted != nil && a.env.Unmounted() != ""
}

// startFailed returns the end of a job whose command cannot be started. Its exit code is 127 if the command does not
// exist, otherwise 126, like those of a shell.
func startFailed(err error, now jjm.Time) job {
	exit := uint8(126)
	if errors.Is(err, os.ErrNotExist) {
		exit = 127
	}
	return job{state: jjm.BatchEndedFailed, exit: exit, ended: now,
		reason: fmt.Sprintf("it could not be started: %.300v", err)}
}

// write writes lines about events that have happened. If a write fails, the lines are kept and written later. The
// caller holds a.mu.
func (a *Adapter) write(b *bulk, lines ...[]byte) {
	err := b.append(true, lines...)
	a.warn("writing "+filepath.Base(b.dir)+"/log", err)
	if err != nil {
		a.unwritten[b] = struct{}{}
		a.wakeBy(a.env.Now().Add(retryDisk))
	} else {
		delete(a.unwritten, b)
	}
}

// forget removes an ended process from memory, and frees its cores. The caller holds a.mu.
func (a *Adapter) forget(p *proc) {
	if p.b.procs[p.pos] != p {
		return
	}
	delete(p.b.procs, p.pos)
	delete(a.procs, p)
	a.take(p.b, -p.b.need)
	if p.p != nil {
		p.p.Close()
	}
}
