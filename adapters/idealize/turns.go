package idealize

import (
	"context"
	"slices"
	"sync"
	"time"

	"jjm/internal/jjm"
)

// minute is the time window of the ceiling.
const minute = time.Minute

// turns decides which caller may run a command now. There are two resources:
//
//	place    one for each call, from its first command to its end
//	minute   one start for each command, within any 60 seconds
//
// A part of both resources is reserved for urgent callers. Urgent callers get their turns first, then calls that
// already have a place, because other calls wait for that place. Callers of equal rank get their turns in the order of
// their arrival.
type turns struct {
	places  int
	ceiling int // largest number of commands in any minute; 0 for no limit

	mu         sync.Mutex
	placesUsed int
	placesFull time.Time      // when the last place was taken that callers who are not urgent may use
	placesOf   map[int]int    // number of places used by each account, except theDaemon
	started    []commandStart // commands of the last minute, oldest first
	urgent     []*waiter
	plain      []*waiter
	timer      *time.Timer // calls grant when the next start of the minute becomes free
}

// commandStart is the start of a command, and the uid in which it ran.
type commandStart struct {
	at      time.Time
	account int
}

// waiter is a caller in line. ready is closed when the waiter gets its turn.
type waiter struct {
	account  int
	verb     Verb
	since    time.Time
	urgent   bool
	hasPlace bool // whether this is a later command of a call that has a place
	ready    chan struct{}
	granted  bool
}

// acquire waits for a place and a start of a call. Calls of the verb Control are urgent. If ctx ends first, the error
// is of kind Busy and no command was run.
func (t *turns) acquire(ctx context.Context, verb Verb) error {
	if ctx.Err() != nil {
		return t.errNoTurn(ctx)
	}
	w := &waiter{account: accountOf(ctx), verb: verb, since: time.Now(), urgent: verb == Control,
		ready: make(chan struct{})}
	if t.wait(ctx, w) {
		return nil
	}
	t.mu.Lock()
	if w.granted { // w got its turn at the moment when ctx ended
		t.freePlace(w.account)
		t.grant()
	}
	t.mu.Unlock()
	return t.errNoTurn(ctx)
}

// acquireNext waits for the start of a later command of a call that has a place. If ctx ends first, the error is of
// kind Busy and the command was not run.
func (t *turns) acquireNext(ctx context.Context, urgent bool) error {
	if ctx.Err() != nil || !t.wait(ctx,
		&waiter{account: accountOf(ctx), urgent: urgent, hasPlace: true, ready: make(chan struct{})}) {
		return t.errNoTurn(ctx)
	}
	return nil
}

// wait puts w in line. It returns true when w has its turn, or false if ctx ended first. If it returns false, w.granted
// shows whether w got its turn at the same moment.
func (t *turns) wait(ctx context.Context, w *waiter) bool {
	t.mu.Lock()
	line := t.line(w)
	at := len(*line)
	if w.hasPlace {
		at = 0
		for at < len(*line) && (*line)[at].hasPlace {
			at++
		}
	}
	*line = slices.Insert(*line, at, w)
	t.grant()
	t.mu.Unlock()
	select {
	case <-w.ready:
		return true
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !w.granted {
		*line = slices.DeleteFunc(*line, func(o *waiter) bool { return o == w })
		t.grant() // w may have blocked waiters behind it
	}
	return false
}

// line returns the line in which w waits: the line of urgent callers or the line of all other callers.
func (t *turns) line(w *waiter) *[]*waiter {
	if w.urgent {
		return &t.urgent
	}
	return &t.plain
}

func (t *turns) errNoTurn(ctx context.Context) error {
	s := t.status()
	if t.ceiling > 0 {
		return jjm.Errorf(jjm.Busy, "no turn to run a command: %d of %d run, %d of %d were begun within a minute: %w",
			s.Running, t.places, s.Used, t.ceiling, jjm.Plainly(context.Cause(ctx)))
	}
	return jjm.Errorf(jjm.Busy, "no turn to run a command: %d of %d run: %w", s.Running, t.places,
		jjm.Plainly(context.Cause(ctx)))
}

// release frees the place of an account's call.
func (t *turns) release(account int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.freePlace(account)
	t.grant()
}

// freePlace counts a place as free. The caller holds the lock.
func (t *turns) freePlace(account int) {
	t.placesUsed--
	if account == theDaemon {
		return
	}
	if t.placesOf[account]--; t.placesOf[account] <= 0 {
		delete(t.placesOf, account)
	}
}

// takePlace counts a place as used. The caller holds the lock.
func (t *turns) takePlace(account int) {
	was := t.room(&waiter{})
	t.placesUsed++
	if was && !t.room(&waiter{}) {
		t.placesFull = time.Now()
	}
	if account == theDaemon {
		return
	}
	if t.placesOf == nil {
		t.placesOf = map[int]int{}
	}
	t.placesOf[account]++
}

// grant assigns turns, in order, to the waiters in line. It stops at the first waiter for which a shared limit leaves
// no room. A waiter that only the limits of its own account stop does not stop the waiters behind it. The caller holds
// the lock.
func (t *turns) grant() {
	now := time.Now()
	t.expire(now)
	for _, line := range []*[]*waiter{&t.urgent, &t.plain} {
		for i := 0; i < len(*line); {
			w := (*line)[i]
			if t.excess(w, theDaemon) >= 0 || !w.hasPlace && !t.room(w) {
				break // a shared limit is reached, which stops the whole line
			}
			if !t.free(w) {
				i++
				continue
			}
			*line = slices.Delete(*line, i, i+1)
			if !w.hasPlace {
				t.takePlace(w.account)
			}
			t.started = append(t.started, commandStart{now, w.account})
			w.granted = true
			close(w.ready)
		}
	}
	t.schedule(now)
}

// expire forgets commands that were started a minute ago or more.
func (t *turns) expire(now time.Time) {
	old := 0
	for old < len(t.started) && now.Sub(t.started[old].at) >= minute {
		old++
	}
	t.started = slices.Delete(t.started, 0, old)
}

// room reports whether a place is free for w, without regard to the limit of w's account.
func (t *turns) room(w *waiter) bool { return t.placesUsed < t.available(t.places, 1, w.urgent) }

// free reports whether w can have its turn now.
func (t *turns) free(w *waiter) bool {
	place := w.hasPlace || t.room(w) && (w.account == theDaemon || t.placesOf[w.account] < accountShare(t.places))
	return place && t.excess(w, theDaemon) < 0 && t.excess(w, w.account) < 0
}

// accountShare returns the part of n that one account may use.
func accountShare(n int) int { return max(n/2, 1) }

// excess returns the index of the command in the last minute that must expire before w can start, or a number below 0
// if w can start now. It counts the commands of one account against that account's share, or for theDaemon all commands
// against the ceiling.
func (t *turns) excess(w *waiter, account int) int {
	switch {
	case t.ceiling == 0:
		return -1
	case account == theDaemon:
		return len(t.started) - t.available(t.ceiling, t.ceiling/10, w.urgent)
	}
	n := 0
	for i := range t.started {
		if t.started[i].account == account {
			n++
		}
	}
	return n - accountShare(t.ceiling)
}

// available returns the part of n that a caller may use. An urgent caller may use all of n. Other callers may not use
// the part kept; if n is 2 or more, that part is at least 1.
func (t *turns) available(n, kept int, urgent bool) int {
	if urgent || n < 2 {
		return n
	}
	return n - max(kept, 1)
}

// schedule sets a timer that calls grant when a waiter in line can start because an earlier command has become a minute
// old. The caller holds the lock.
func (t *turns) schedule(now time.Time) {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	// A waiter for a place needs no timer: freeing a place calls grant.
	next := -1
	for _, line := range [][]*waiter{t.urgent, t.plain} {
		for i, w := range line {
			if i > 0 && w.account == theDaemon {
				continue // this waiter has the same limits as the first waiter in line
			}
			if at := t.expires(w); at >= 0 && (next < 0 || at < next) {
				next = at
			}
		}
	}
	if next < 0 {
		return
	}
	t.timer = time.AfterFunc(t.started[next].at.Add(minute).Sub(now), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.grant()
	})
}

// expires returns the index of the started command that must become a minute old before w can start, or -1 if w waits
// for no such command.
func (t *turns) expires(w *waiter) int {
	at := t.excess(w, theDaemon)
	if w.account == theDaemon {
		return at
	}
	left := t.excess(w, w.account)
	for i := 0; left >= 0 && i < len(t.started); i++ {
		if t.started[i].account != w.account {
			continue
		}
		if left == 0 {
			return max(at, i)
		}
		left--
	}
	return at
}

// status returns the fields of Status about turns.
func (t *turns) status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(time.Now())
	return Status{Running: t.placesUsed, Waiting: len(t.urgent) + len(t.plain), Used: len(t.started), Ceiling: t.ceiling}
}
