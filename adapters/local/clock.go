package local

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"jjm/internal/jjm"
)

// These are the intervals at which Run checks conditions that send no notification.
const (
	retryDisk  = time.Second            // before lines that could not be written are written again
	retryStart = time.Second / 2        // before a start that the machine refused is repeated
	lookAgain  = 250 * time.Millisecond // between searches for a job's process
	killAgain  = 5 * time.Second        // before a job that survived KILL is killed again
	purgeEvery = time.Minute            // between searches for old entries
	firstPurge = time.Hour              // before the first purge after a start; meanwhile jjm can settle doubtful bulks
)

// wakeBy ensures that tick runs at time t or earlier. The caller holds a.mu.
func (a *Adapter) wakeBy(t time.Time) {
	if t.Before(a.due) {
		a.due = t
	}
}

// pauseFor prevents the adapter from starting jobs for d. The caller holds a.mu.
func (a *Adapter) pauseFor(d time.Duration) {
	a.pause = a.env.Now().Add(d)
	a.wakeBy(a.pause)
}

// tick performs all actions that are due, and returns the time until the next call.
func (a *Adapter) tick(ctx context.Context, watchers *sync.WaitGroup) time.Duration {
	a.mu.Lock()
	now := a.env.Now()
	if now.Before(a.due) {
		defer a.mu.Unlock()
		return a.due.Sub(now)
	}
	if !now.Before(a.purge) {
		a.purge = now.Add(purgeEvery)
		a.purgeOld(jjm.At(now))
	}
	a.due = a.purge
	for _, until := range append(slices.Collect(maps.Values(a.pausedUntil)), a.pause) {
		if now.Before(until) {
			a.wakeBy(until)
		}
	}
	for b := range a.unwritten {
		a.write(b)
		b.idle()
	}
	kill, lost := a.overdue(now)
	a.mu.Unlock()

	for _, p := range kill {
		watchers.Go(func() { a.killRest(p) })
	}
	for _, p := range lost {
		a.lookFor(ctx, watchers, p)
	}
	return 0
}

// overdue asks jobs that exceeded their walltime to end. It returns the jobs to kill, and the jobs whose process must
// be searched for. The caller holds a.mu.
func (a *Adapter) overdue(now time.Time) (kill, lost []*proc) {
	at := jjm.At(now)
	for p := range a.procs {
		j := &p.b.jobs[p.pos]
		if p.deadline != 0 && j.endAsked == 0 {
			if at >= p.deadline {
				a.write(p.b, lineOf("timeout", p.pos))
				j.endAsked |= byWalltime
				a.terminate(p)
			} else {
				a.wakeBy(p.deadline.Time())
			}
		}
		if p.killAt != 0 {
			if at >= p.killAt {
				kill = append(kill, p)
				p.killAt = at.Add(killAgain)
			}
			a.wakeBy(p.killAt.Time())
		}
		if p.p == nil && j.state == jjm.BatchRunning {
			lost = append(lost, p)
			a.wakeBy(now.Add(lookAgain))
		}
	}
	return kill, lost
}

// purgeOld removes the bulks whose last job ended longer ago than Keep. The caller holds a.mu.
func (a *Adapter) purgeOld(now jjm.Time) {
	var old []*bulk
	for _, b := range a.order {
		if b.alive == 0 && len(b.procs) == 0 && b.lastEnd.Add(a.config.Keep.D()) < now {
			old = append(old, b)
		}
	}
	for _, b := range old {
		err := a.remove(b)
		a.warn("removing old spool entries", err)
		if err != nil {
			return
		}
	}
}
