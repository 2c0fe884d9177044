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

	"jjm"
	"jjm/run"
)

// takeUp takes up the jobs that were running, or about to, when the daemon
// before this one ended.
func (a *Adapter) takeUp(ctx context.Context, watchers *sync.WaitGroup) {
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
	poke(a.changed)
}

// recoverJob decides from what is there: a living process, an end record, a pid
// and nothing else, or a mark alone.
func (a *Adapter) recoverJob(ctx context.Context, watchers *sync.WaitGroup, p *proc) {
	if p.boot == a.boot && a.adopt(p) {
		a.mu.Lock()
		defer a.mu.Unlock()
		j := &p.b.jobs[p.pos]
		if w := p.b.Request.Walltime.D(); w > 0 {
			p.deadline = j.started.Add(w)
			a.soon(p.deadline.Time())
		}
		if j.asked != 0 { // asked to end, perhaps not yet told
			a.terminate(p)
		}
		if p.p != nil {
			a.watch(ctx, watchers, p)
		} else {
			a.soon(a.env.Now()) // to look again
		}
		return
	}
	ran := p.pid != 0 || p.b.ended(p.pos)
	over := a.outcome(ending{p: p, err: run.ErrNotChild})

	a.mu.Lock()
	defer a.mu.Unlock()
	b, j := p.b, &p.b.jobs[p.pos]
	if ran || j.asked != 0 {
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

// adopt finds the process of a job of this boot. It reports whether the job
// lives; p.p stays nil for one that lives but cannot be reached now.
func (a *Adapter) adopt(p *proc) bool {
	if p.pid != 0 {
		switch mine, err := a.take(p, p.pid); {
		case mine || err != nil:
			return true
		}
	}
	for patience := 5; a.heldNow(p); patience-- {
		found := holders(filepath.Join(p.b.dir, "locks"), int64(p.pos))
		if a.takeLeader(p, found) || len(found) == 0 {
			return true
		}
		if p.pid != 0 || patience == 0 {
			a.killRest(p) // its main process has ended; these are what it left behind
			return false
		}
		// The daemon may have died within fork(2), and the process be about to
		// make its session.
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

// takeLeader adopts, of the processes that hold the job's lock, the one that
// was started: the daemon died before it could write the pid; or the clock
// since the boot makes no sense, and the lock proves it. It reports whether the
// job lives.
func (a *Adapter) takeLeader(p *proc, found []stat) bool {
	// The oldest first: a later one may have made a session within the job.
	sort.Slice(found, func(i, k int) bool { return found[i].startMS < found[k].startMS })
	for _, s := range found {
		if s.session != s.pid || p.pid != 0 && p.pid != s.pid {
			continue
		}
		a.mu.Lock()
		p.born = [2]int64{s.startMS, s.startMS}
		a.mu.Unlock()
		mine, err := a.take(p, s.pid)
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

// take adopts a process if it is the one that was started. The error means that
// this cannot be told now.
func (a *Adapter) take(p *proc, pid int) (mine bool, err error) {
	process, err := run.Adopt(pid)
	if errors.Is(err, syscall.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// Only now: from here on the number cannot come to name another process.
	s, err := readStat(pid)
	if err != nil || !p.is(s) {
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

// lookFor looks again for a job that lived but could not be reached.
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
	if p.b.jobs[p.pos].asked != 0 {
		a.terminate(p)
	}
}
