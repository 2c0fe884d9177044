package local

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// end handles the end of a job's process.
func (a *Adapter) end(e ending) {
	p := e.p
	a.mu.Lock()
	known := p.b.procs[p.pos] == p
	a.mu.Unlock()
	if !known {
		return
	}
	a.crashPoint("local.ended")
	if e.start != nil {
		a.notStarted(e)
		return
	}
	over := a.outcome(e)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conclude(p, over)
	a.crashPoint("local.closed")
}

// conclude writes the end of a started job to the log and stores it in memory. The caller holds a.mu.
func (a *Adapter) conclude(p *proc, over job) {
	b, pos := p.b, p.pos
	j := &b.jobs[pos]
	over.started, over.restarts = j.started, j.restarts
	over.ended = max(over.ended, over.started)
	switch {
	case j.endAsked&byCancel != 0:
		over.state, over.reason = jjm.BatchCancelled, "cancelled while it ran"
	case j.endAsked&byWalltime != 0:
		over.state = jjm.BatchTimeout
		over.reason = fmt.Sprintf("walltime limit of %v reached", b.Request.Walltime)
	}
	a.write(b, lineEnd(pos, &over))
	a.forget(p)
	a.settle(b, pos, over)
	b.idle()
	notify(a.changed)
}

// outcome returns how a process ended: from wait4(2) if the process is a child of this daemon, otherwise from the end
// record that the job wrote.
func (a *Adapter) outcome(e ending) job {
	now := jjm.At(a.env.Now())
	if e.err == nil {
		exit, signal := run.Status(e.ws)
		over := job{state: jjm.BatchEndedOK, exit: uint8(exit), signal: uint8(signal), ended: now}
		if exit != 0 {
			over.state = jjm.BatchEndedFailed
		}
		if e.ru != nil {
			over.cpuMS = (e.ru.Utime.Nano() + e.ru.Stime.Nano()) / int64(time.Millisecond)
			over.rssKB = e.ru.Maxrss
		}
		return over
	}
	r, err := readEndRecord(e.p.b.dir, endName(e.p.pos))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return job{state: jjm.BatchAborted, ended: now, reason: a.noRecord(e.p)}
	case err != nil:
		return job{state: jjm.BatchAborted, ended: now, reason: fmt.Sprintf("%.200v", err)}
	}
	over := job{state: jjm.BatchEndedOK, exit: r.exit, ended: min(r.at, now), cpuMS: r.cpuMS, rssKB: r.rssKB}
	if r.exit != 0 {
		over.state = jjm.BatchEndedFailed
	}
	return over
}

// noRecord returns the reason for the end of a job that left no end record.
func (a *Adapter) noRecord(p *proc) string {
	if p.boot != a.boot {
		return "no exit record: the machine was restarted"
	}
	return "no exit record: it ended while jjm was down"
}

// lockHeld reports whether a process of the job holds its lock.
func (a *Adapter) lockHeld(p *proc) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return p.b.lockHeld(p.pos)
}

// killRest kills the remaining processes of a job. Only one call at a time searches for processes, because each search
// examines every process of the machine and blocks forks meanwhile.
func (a *Adapter) killRest(p *proc) {
	a.killing.Lock()
	defer a.killing.Unlock()
	a.mu.Lock()
	now := *p
	a.mu.Unlock()
	if now.p != nil {
		_ = now.p.Signal(syscall.SIGKILL)
	}
	now.killRest(func() bool { return a.lockHeld(p) })
}
