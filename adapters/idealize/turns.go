package idealize

import (
	"context"
	"slices"
	"sync"
	"time"

	"jjm"
)

// minute is the window of the ceiling.
const minute = time.Minute

// turns hands out turns to run a command: places, and the commands of a minute.
// A call has a place until it is over, and each of its commands one of the
// minute's. Urgent callers come first, and a part of both is theirs alone. Next
// come those who have a place, since others wait for it; among equals the first
// to come is first.
type turns struct {
	places  int
	ceiling int // commands in any minute; 0 = no ceiling

	mu     sync.Mutex
	busy   int
	held   map[int]int // places by account, but for the daemon's own
	begun  []start     // commands of the last minute, oldest first
	urgent []*waiter
	plain  []*waiter
	timer  *time.Timer // of the next place in the minute, where somebody waits for it
}

// start is the begin of a command as an account.
type start struct {
	at      time.Time
	account int
}

// waiter is a caller in line. ready is closed once it has its turn.
type waiter struct {
	account int
	urgent  bool
	placed  bool // it has a place, and waits for a further command only
	ready   chan struct{}
	dealt   bool
}

// take waits for a turn. The error, when ctx ends first, is of kind Busy: no
// command was run.
func (t *turns) take(ctx context.Context, urgent bool) error {
	if ctx.Err() != nil {
		return t.late(ctx)
	}
	w := &waiter{account: accountOf(ctx), urgent: urgent, ready: make(chan struct{})}
	if t.wait(ctx, w) {
		return nil
	}
	t.mu.Lock()
	if w.dealt { // at the same moment
		t.left(w.account)
		t.deal()
	}
	t.mu.Unlock()
	return t.late(ctx)
}

// more waits for a further command of a call that has its turn. The error, when
// ctx ends first, is of kind Busy: the command was not run.
func (t *turns) more(ctx context.Context, urgent bool) error {
	if ctx.Err() != nil || !t.wait(ctx,
		&waiter{account: accountOf(ctx), urgent: urgent, placed: true, ready: make(chan struct{})}) {
		return t.late(ctx)
	}
	return nil
}

// wait stands in line; false if ctx ended first. The waiter may have been dealt
// a turn at that very moment.
func (t *turns) wait(ctx context.Context, w *waiter) bool {
	t.mu.Lock()
	line := t.line(w)
	at := len(*line)
	if w.placed {
		at = 0
		for at < len(*line) && (*line)[at].placed {
			at++
		}
	}
	*line = slices.Insert(*line, at, w)
	t.deal()
	t.mu.Unlock()
	select {
	case <-w.ready:
		return true
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !w.dealt {
		*line = slices.DeleteFunc(*line, func(o *waiter) bool { return o == w })
		t.deal() // for those behind
	}
	return false
}

func (t *turns) line(w *waiter) *[]*waiter {
	if w.urgent {
		return &t.urgent
	}
	return &t.plain
}

func (t *turns) late(ctx context.Context) error {
	s := t.state()
	if t.ceiling > 0 {
		return jjm.Errorf(jjm.Busy, "no turn to run a command: %d of %d run, %d of %d were begun within a minute: %w",
			s.Running, t.places, s.Used, t.ceiling, context.Cause(ctx))
	}
	return jjm.Errorf(jjm.Busy, "no turn to run a command: %d of %d run: %w", s.Running, t.places, context.Cause(ctx))
}

// give ends a turn of an account.
func (t *turns) give(account int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left(account)
	t.deal()
}

// left takes a place back. The lock is held.
func (t *turns) left(account int) {
	t.busy--
	if account == theDaemon {
		return
	}
	if t.held[account]--; t.held[account] <= 0 {
		delete(t.held, account)
	}
}

// entered counts a place. The lock is held.
func (t *turns) entered(account int) {
	t.busy++
	if account == theDaemon {
		return
	}
	if t.held == nil {
		t.held = map[int]int{}
	}
	t.held[account]++
}

// deal returns turns to those in line, as far as they go: who may not have one for
// its account's sake keeps nobody behind from one. The lock is held.
func (t *turns) deal() {
	now := time.Now()
	t.expire(now)
	for _, line := range []*[]*waiter{&t.urgent, &t.plain} {
		for i := 0; i < len(*line); {
			w := (*line)[i]
			if t.over(w, theDaemon) >= 0 || !w.placed && !t.room(w) {
				break // of all
			}
			if !t.free(w) {
				i++
				continue
			}
			*line = slices.Delete(*line, i, i+1)
			if !w.placed {
				t.entered(w.account)
			}
			t.begun = append(t.begun, start{now, w.account})
			w.dealt = true
			close(w.ready)
		}
	}
	t.wake(now)
}

// expire forgets commands that were begun a minute ago or more.
func (t *turns) expire(now time.Time) {
	old := 0
	for old < len(t.begun) && now.Sub(t.begun[old].at) >= minute {
		old++
	}
	t.begun = slices.Delete(t.begun, 0, old)
}

// room reports whether there is a place for one in line, whoever it is.
func (t *turns) room(w *waiter) bool { return t.busy < t.most(t.places, 1, w.urgent) }

// free reports whether there is a turn for one in line.
func (t *turns) free(w *waiter) bool {
	place := w.placed || t.room(w) && (w.account == theDaemon || t.held[w.account] < half(t.places))
	return place && t.over(w, theDaemon) < 0 && t.over(w, w.account) < 0
}

// half is what one account may have of n.
func half(n int) int { return max(n/2, 1) }

// over is how many commands of the last minute must be past before one in line
// may begin, less one: below 0 it may begin now. They are those of an account, of
// which there may be half as many, or all.
func (t *turns) over(w *waiter, account int) int {
	switch {
	case t.ceiling == 0:
		return -1
	case account == theDaemon:
		return len(t.begun) - t.most(t.ceiling, t.ceiling/10, w.urgent)
	}
	n := 0
	for i := range t.begun {
		if t.begun[i].account == account {
			n++
		}
	}
	return n - half(t.ceiling)
}

// most is what callers may have of n, where so many are kept for the urgent
// ones: at least 1, if there are two.
func (t *turns) most(n, kept int, urgent bool) int {
	if urgent || n < 2 {
		return n
	}
	return n - max(kept, 1)
}

// wake deals again when enough of the last minute's commands are past. The lock
// is held.
func (t *turns) wake(now time.Time) {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	// Who waits for the minute waits for so many to expire that one more may
	// begin; or for a place, which another gives.
	next := -1
	for _, line := range [][]*waiter{t.urgent, t.plain} {
		for i, w := range line {
			if i > 0 && w.account == theDaemon {
				continue // as the first
			}
			if at := t.expires(w); at >= 0 && (next < 0 || at < next) {
				next = at
			}
		}
	}
	if next < 0 {
		return
	}
	t.timer = time.AfterFunc(t.begun[next].at.Add(minute).Sub(now), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.deal()
	})
}

// expires returns the command of the last minute with whose expiry one in line may
// begin, -1 if it waits for none.
func (t *turns) expires(w *waiter) int {
	at := t.over(w, theDaemon)
	if w.account == theDaemon {
		return at
	}
	left := t.over(w, w.account)
	for i := 0; left >= 0 && i < len(t.begun); i++ {
		if t.begun[i].account != w.account {
			continue
		}
		if left == 0 {
			return max(at, i)
		}
		left--
	}
	return at
}

// state tells how busy it is.
func (t *turns) state() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(time.Now())
	return Status{Running: t.busy, Waiting: len(t.urgent) + len(t.plain), Used: len(t.begun), Ceiling: t.ceiling}
}
