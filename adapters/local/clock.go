package local

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"jjm/internal/jjm"
)

// How often Run looks at things of which it gets no notice.
const (
	retryDisk  = time.Second            // lines that could not be written
	retryStart = time.Second / 2        // a start that the machine refused
	lookAgain  = 250 * time.Millisecond // a job whose process cannot be found
	killAgain  = 5 * time.Second        // a job that survived KILL
	purgeEvery = time.Minute            // look for old entries
	firstPurge = time.Hour              // first look after a start, so that jjm can settle doubtful bulks before
)

// wakeBy makes tick look at the clock at t at the latest. The caller holds a.mu.
func (a *Adapter) wakeBy(t time.Time) {
	if t.Before(a.due) {
		a.due = t
	}
}

// pauseFor keeps the adapter from starting jobs for d. The caller holds a.mu.
func (a *Adapter) pauseFor(d time.Duration) {
	a.pause = a.env.Now().Add(d)
	a.wakeBy(a.pause)
}

// tick does what is due by the clock, and returns the time until it has to be called again.
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

// overdue asks jobs over their walltime to end. It returns the jobs to kill, and the jobs whose process has to be
// looked for. The caller holds a.mu.
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

// purgeOld removes the bulks whose last job ended more than Keep ago. The caller holds a.mu.
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
