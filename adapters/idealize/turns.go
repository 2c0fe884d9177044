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
	begun  []time.Time // commands of the last minute, oldest first
	urgent []*waiter
	plain  []*waiter
	timer  *time.Timer // of the next place in the minute, where somebody waits for it
}

// waiter is a caller in line. ready is closed once it has its turn.
type waiter struct {
	urgent bool
	placed bool // it has a place, and waits for a further command only
	ready  chan struct{}
	dealt  bool
}

// take waits for a turn. The error, when ctx ends first, is of kind Busy: no
// command was run.
func (t *turns) take(ctx context.Context, urgent bool) error {
	if ctx.Err() != nil {
		return t.late(ctx)
	}
	w := &waiter{urgent: urgent, ready: make(chan struct{})}
	if t.wait(ctx, w) {
		return nil
	}
	t.mu.Lock()
	if w.dealt { // at the same moment
		t.busy--
		t.deal()
	}
	t.mu.Unlock()
	return t.late(ctx)
}

// more waits for a further command of a call that has its turn. The error, when
// ctx ends first, is of kind Busy: the command was not run.
func (t *turns) more(ctx context.Context, urgent bool) error {
	if ctx.Err() != nil || !t.wait(ctx, &waiter{urgent: urgent, placed: true, ready: make(chan struct{})}) {
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

// give ends a turn.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
	t.deal()
}

// deal gives turns to those in line, as far as they go. The lock is held.
func (t *turns) deal() {
	now := time.Now()
	t.expire(now)
	for _, line := range []*[]*waiter{&t.urgent, &t.plain} {
		for len(*line) > 0 && t.free((*line)[0]) {
			w := (*line)[0]
			*line = (*line)[1:]
			if !w.placed {
				t.busy++
			}
			t.begun = append(t.begun, now)
			w.dealt = true
			close(w.ready)
		}
	}
	t.wake(now)
}

// expire forgets commands that were begun a minute ago or more.
func (t *turns) expire(now time.Time) {
	old := 0
	for old < len(t.begun) && now.Sub(t.begun[old]) >= minute {
		old++
	}
	t.begun = slices.Delete(t.begun, 0, old)
}

// free reports whether there is a turn for one in line.
func (t *turns) free(w *waiter) bool {
	return (w.placed || t.busy < t.most(t.places, 1, w.urgent)) && t.over(w) < 0
}

// over is how many commands of the last minute must be past before one in line
// may begin, less one: below 0 it may begin now.
func (t *turns) over(w *waiter) int {
	if t.ceiling == 0 {
		return -1
	}
	return len(t.begun) - t.most(t.ceiling, t.ceiling/10, w.urgent)
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
	// Who is first in a line waits for so many to expire that one more may
	// begin; or for a place, which another gives.
	next := -1
	for _, line := range [][]*waiter{t.urgent, t.plain} {
		if len(line) == 0 {
			continue
		}
		if over := t.over(line[0]); over >= 0 && (next < 0 || over < next) {
			next = over
		}
	}
	if next < 0 {
		return
	}
	t.timer = time.AfterFunc(t.begun[next].Add(minute).Sub(now), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.deal()
	})
}

// state tells how busy it is.
func (t *turns) state() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(time.Now())
	return Status{Running: t.busy, Waiting: len(t.urgent) + len(t.plain), Used: len(t.begun), Ceiling: t.ceiling}
}
