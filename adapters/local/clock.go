package local

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"jjm"
)

// The rhythm of Run, where nothing happens by itself.
const (
	retryDisk  = time.Second            // lines that the disk refused
	retryStart = time.Second / 2        // a start that the machine refused
	lookAgain  = 250 * time.Millisecond // a job whose process cannot be found
	killAgain  = 5 * time.Second        // a job that KILL did not end
	purgeEvery = time.Minute            // old entries
	firstPurge = time.Hour              // after the start, for doubts to be settled
)

// soon has tick look at the clock at t. The caller holds a.mu.
func (a *Adapter) soon(t time.Time) {
	if t.Before(a.due) {
		a.due = t
	}
}

// pauseFor starts nothing for a while. The caller holds a.mu.
func (a *Adapter) pauseFor(d time.Duration) {
	a.pause = a.env.Now().Add(d)
	a.soon(a.pause)
}

// tick does what is due by the clock, and gives the time until it is wanted
// again.
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
	for _, until := range append(slices.Collect(maps.Values(a.rests)), a.pause) {
		if now.Before(until) {
			a.soon(until)
		}
	}
	for b := range a.unsaved {
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

// overdue tells jobs over their walltime to end, and lists those to kill and
// those to look for. The caller holds a.mu.
func (a *Adapter) overdue(now time.Time) (kill, lost []*proc) {
	at := jjm.At(now)
	for p := range a.procs {
		j := &p.b.jobs[p.pos]
		if p.deadline != 0 && j.asked == 0 {
			if at >= p.deadline {
				a.write(p.b, lineOf("timeout", p.pos))
				j.asked |= overLimit
				a.terminate(p)
			} else {
				a.soon(p.deadline.Time())
			}
		}
		if p.killAt != 0 {
			if at >= p.killAt {
				kill = append(kill, p)
				p.killAt = at.Add(killAgain)
			}
			a.soon(p.killAt.Time())
		}
		if p.p == nil && j.state == jjm.BatchRunning {
			lost = append(lost, p)
			a.soon(now.Add(lookAgain))
		}
	}
	return kill, lost
}

// purgeOld removes bulks whose last job ended long ago. The caller holds a.mu.
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
