package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"syscall"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// recoverAll handles the jobs that were running, or were about to run, when the previous daemon ended.
func (a *Adapter) recoverAll(ctx context.Context, watchers *sync.WaitGroup) {
	a.mu.Lock()
	var procs []*proc
	for _, b := range a.order {
		for _, pos := range sorted(b.procs) {
			procs = append(procs, b.procs[pos])
		}
	}
	a.mu.Unlock()
	for _, p := range procs {
		if ctx.Err() != nil {
			return
		}
		a.recoverJob(ctx, watchers, p)
	}
	notify(a.changed)
}

// recoverJob decides from the traces of a job how the job continues:
//
//	a living process            the job continues
//	an end record, or a pid     the job has ended
//	only the "run" line         the job waits again, and is started with a greater restart count
func (a *Adapter) recoverJob(ctx context.Context, watchers *sync.WaitGroup, p *proc) {
	if p.boot == a.boot && a.adopt(p) {
		a.mu.Lock()
		defer a.mu.Unlock()
		j := &p.b.jobs[p.pos]
		if w := p.b.Request.Walltime.D(); w > 0 {
			p.deadline = j.started.Add(w)
			a.wakeBy(p.deadline.Time())
		}
		if j.endAsked != 0 { // the process may not have received the request
			a.terminate(p)
		}
		if p.p != nil {
			a.watch(ctx, watchers, p)
		} else {
			a.wakeBy(a.env.Now()) // search for the process again soon
		}
		return
	}
	ran := p.pid != 0 || p.b.ended(p.pos)
	over := a.outcome(ending{p: p, err: run.ErrNotChild})

	a.mu.Lock()
	defer a.mu.Unlock()
	b, j := p.b, &p.b.jobs[p.pos]
	if ran || j.endAsked != 0 {
		a.conclude(p, over)
		return
	}
	j.restarts++
	j.started = 0
	a.forget(p)
	b.set(p.pos, jjm.BatchQueued)
	a.enqueue(b)
	b.idle()
}

// adopt finds the process of a job that was started in this boot. It reports whether the job is alive. If the job is
// alive but its process cannot be reached now, p.p stays nil.
func (a *Adapter) adopt(p *proc) bool {
	if p.pid != 0 {
		switch mine, err := a.adoptPID(p, p.pid); {
		case mine || err != nil:
			return true
		}
	}
	for patience := 5; a.lockHeld(p); patience-- {
		found := holders(filepath.Join(p.b.dir, "locks"), int64(p.pos))
		if a.takeLeader(p, found) || len(found) == 0 {
			return true
		}
		if p.pid != 0 || patience == 0 {
			a.killRest(p) // the main process has ended, but other processes of its session remain
			return false
		}
		// The daemon may have died during fork(2), and the process may be about to create its session.
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

// takeLeader looks for the main process of a job among found, the processes that hold the job's lock, and adopts it. It
// is needed if the daemon died before it wrote the pid, or if the start times do not fit; holding the lock proves that
// a process belongs to the job. takeLeader reports whether the job is alive.
func (a *Adapter) takeLeader(p *proc, found []stat) bool {
	// The oldest process comes first, because a later process may have created a session within the job.
	sort.Slice(found, func(i, k int) bool { return found[i].startMS < found[k].startMS })
	for _, s := range found {
		if s.session != s.pid || p.pid != 0 && p.pid != s.pid {
			continue
		}
		a.mu.Lock()
		p.born = [2]int64{s.startMS, s.startMS}
		a.mu.Unlock()
		mine, err := a.adoptPID(p, s.pid)
		if mine {
			a.mu.Lock()
			a.write(p.b, linePID(p.pos, p.pid, p.born[1]))
			a.mu.Unlock()
		}
		if mine || err != nil {
			return true
		}
	}
	return false
}

// adoptPID adopts a process if it was started for the job, and returns whether it was. An error means that this cannot
// be decided now.
func (a *Adapter) adoptPID(p *proc, pid int) (mine bool, err error) {
	process, err := run.Adopt(pid)
	if errors.Is(err, syscall.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// Read only after the process is held: then its number cannot be reassigned to another process.
	s, err := readStat(pid)
	if err != nil || !p.matches(s) {
		process.Close()
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			err = nil
		}
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p.p, p.pid = process, pid
	return true, nil
}

// lookFor searches again for the process of a job that is alive but could not be reached.
func (a *Adapter) lookFor(ctx context.Context, watchers *sync.WaitGroup, p *proc) {
	if !a.adopt(p) {
		a.end(ending{p: p, err: run.ErrNotChild})
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.p == nil {
		return
	}
	a.watch(ctx, watchers, p)
	if p.b.jobs[p.pos].endAsked != 0 {
		a.terminate(p)
	}
}
