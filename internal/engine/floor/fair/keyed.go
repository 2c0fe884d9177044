// Package fair runs work account by account. An account that is slow, or has much work, delays only itself. The package
// does not depend on the kind of work.
package fair

import (
	"context"
	"math"
	"sync"
	"time"

	"jjm/internal/jjm"
)

// Keyed runs one function for many keys. It never runs the function twice at the same time for the same key; a key that
// is kicked during its run runs once more afterwards. The function returns the time after which to run it again, 0 for
// never.
//
// Every key belongs to an account. The next key to run belongs to the account with the fewest runs; two accounts with
// work therefore get half of the places each. At most width runs have a place. A run that lasts longer than patience
// gives up its place to other runs, because it probably waits for something that its account delays. The run still
// counts among the runs of its account, and an account never has more than width runs at the same time.
type Keyed[K comparable] struct {
	do       func(context.Context, K) time.Duration
	width    int
	most     int // largest number of runs without a place
	patience time.Duration
	wake     chan struct{}

	mu      sync.Mutex
	backlog backlog[K]
	places  int                 // number of places taken
	long    int                 // number of runs that gave up their place
	busy    map[K]bool          // the keys that run; the value is true if the key was kicked during its run
	timers  map[K]*time.Timer   // of keys that are neither queued nor running
	delays  map[K]time.Duration // set by KickIn during a run: the delay from the end of the run to the next run
}

// backlog holds the keys that wait for a run, by account.
type backlog[K comparable] struct {
	whose  func(K) int      // returns the uid of a key's account; called under mu, must not take a lock of the engine
	lanes  map[int]*lane[K] // the accounts with work, by uid
	round  []*lane[K]       // the same lanes, in the order of their last turns, the oldest first
	queued map[K]bool
}

// lane is the work of one account: the keys that wait, and the number that run.
type lane[K comparable] struct {
	uid   int
	queue []K
	runs  int
}

// mostLong limits the number of runs that gave up their places, and thereby the number of goroutines. It is a multiple
// of width.
const mostLong = 4

// NewKeyed returns a Keyed. whose returns the account of a key. Nothing runs until Run is called.
func NewKeyed[K comparable](width int, patience time.Duration, whose func(K) int,
	do func(context.Context, K) time.Duration) *Keyed[K] {
	width = max(width, 1)
	return &Keyed[K]{
		do: do, width: width, most: mostLong * width, patience: patience, wake: make(chan struct{}, 1),
		backlog: backlog[K]{whose: whose, lanes: map[int]*lane[K]{}, queued: map[K]bool{}},
		busy:    map[K]bool{}, timers: map[K]*time.Timer{}, delays: map[K]time.Duration{},
	}
}

// ByAccount returns a Keyed whose keys are accounts. Each account has at most one run at a time. Any number of runs may
// take long without a delay for other accounts.
func ByAccount(width int, patience time.Duration, do func(context.Context, int) time.Duration) *Keyed[int] {
	return Apart(width, patience, func(uid int) int { return uid }, do)
}

// Apart returns a Keyed in which long runs of one account never delay another account. An account has at most width
// runs at the same time, all of which may be long. The number of long runs of all accounts together is not limited.
func Apart[K comparable](width int, patience time.Duration, whose func(K) int,
	do func(context.Context, K) time.Duration) *Keyed[K] {
	k := NewKeyed(width, patience, whose, do)
	k.most = math.MaxInt
	return k
}

// Kick requests a run of key as soon as a place is free.
func (k *Keyed[K]) Kick(key K) {
	k.mu.Lock()
	if t := k.timers[key]; t != nil {
		t.Stop()
		delete(k.timers, key)
	}
	if _, busy := k.busy[key]; busy {
		k.busy[key] = true
	} else {
		k.backlog.enqueue(key)
	}
	k.mu.Unlock()
	Kick(k.wake)
}

// KickIn requests a run of key within d. If key runs now, d counts from the end of that run.
func (k *Keyed[K]) KickIn(key K, d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, busy := k.busy[key]; busy {
		if before, known := k.delays[key]; !known || d < before {
			k.delays[key] = d
		}
	} else if !k.backlog.queued[key] && k.timers[key] == nil {
		k.arm(key, d)
	}
}

// arm kicks key after d. The caller holds mu.
func (k *Keyed[K]) arm(key K, d time.Duration) {
	k.timers[key] = time.AfterFunc(d, func() { k.Kick(key) })
}

// enqueue appends a key to its account's lane, unless the key is already queued.
func (b *backlog[K]) enqueue(key K) {
	if b.queued[key] {
		return
	}
	uid := b.whose(key)
	l := b.lanes[uid]
	if l == nil {
		l = &lane[K]{uid: uid}
		b.lanes[uid] = l
		b.round = append(b.round, l)
	}
	b.queued[key] = true
	l.queue = append(l.queue, key)
}

// take starts a run: it returns the first key of the account with the fewest runs, and
// counts the place as taken. ok is false if there is no place or no key.
func (k *Keyed[K]) take() (key K, l *lane[K], ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.places >= k.width {
		return key, nil, false
	}
	at := -1
	for i, l := range k.backlog.round {
		if len(l.queue) > 0 && l.runs < k.width && (at < 0 || l.runs < k.backlog.round[at].runs) {
			at = i
		}
	}
	if at < 0 {
		return key, nil, false
	}
	l = k.backlog.round[at]
	k.backlog.round = append(append(k.backlog.round[:at], k.backlog.round[at+1:]...), l) // to the end
	key, l.queue = l.queue[0], l.queue[1:]
	delete(k.backlog.queued, key)
	k.busy[key] = false
	l.runs++
	k.places++
	return key, l, true
}

// outlast frees the place of a run that has lasted longer than patience, and sets *left. It does nothing if k.most runs
// already have no place.
func (k *Keyed[K]) outlast(left *bool) {
	k.mu.Lock()
	if k.long < k.most {
		*left = true
		k.long++
		k.places--
	}
	k.mu.Unlock()
	Kick(k.wake)
}

// finish ends a run of key, and queues or delays the next run. *left is true if the run gave up its place.
func (k *Keyed[K]) finish(key K, l *lane[K], left *bool, again time.Duration) {
	k.mu.Lock()
	l.runs--
	if *left {
		k.long--
	} else {
		k.places--
	}
	kicked := k.busy[key]
	if d, known := k.delays[key]; known && (again <= 0 || d < again) {
		again = d
	}
	delete(k.busy, key)
	delete(k.delays, key)
	switch {
	case kicked:
		k.backlog.enqueue(key)
	case again > 0 && k.timers[key] == nil:
		k.arm(key, again)
	}
	if l.runs == 0 && len(l.queue) == 0 {
		k.backlog.forget(l)
	}
	k.mu.Unlock()
	Kick(k.wake)
}

// forget drops the lane of an account without work.
func (b *backlog[K]) forget(gone *lane[K]) {
	delete(b.lanes, gone.uid)
	for i, l := range b.round {
		if l == gone {
			b.round = append(b.round[:i], b.round[i+1:]...)
			return
		}
	}
}

// Run starts the requested runs until ctx ends, and then waits for the present runs to return.
func (k *Keyed[K]) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer k.stopTimers()
	defer wg.Wait()
	for ctx.Err() == nil {
		key, l, ok := k.take()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-k.wake:
			}
			continue
		}
		wg.Go(func() { k.one(ctx, key, l) })
	}
}

// one runs the function for a key. take has already counted the place of this run as taken.
func (k *Keyed[K]) one(ctx context.Context, key K, l *lane[K]) {
	left := new(bool) // set to true when the run gives up its place; guarded by mu
	over := make(chan struct{})
	t := time.AfterFunc(k.patience, func() {
		defer close(over)
		k.outlast(left)
	})
	again := k.do(ctx, key)
	if !t.Stop() {
		<-over
	}
	k.finish(key, l, left, again)
}

func (k *Keyed[K]) stopTimers() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.timers {
		t.Stop()
	}
}

// Accounts holds the account of each live grid job. It has its own lock; Of may therefore be called under any lock of
// the engine.
type Accounts struct {
	mu sync.RWMutex
	m  map[jjm.GridID]int
}

// Put notes that a live grid job belongs to an account.
func (a *Accounts) Put(id jjm.GridID, uid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil {
		a.m = map[jjm.GridID]int{}
	}
	a.m[id] = uid
}

// Drop removes a grid job that is no longer live.
func (a *Accounts) Drop(id jjm.GridID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.m, id)
}

// Nobody is the result of [Accounts.Of] for a grid job that is not live.
const Nobody = -1

// Of returns the uid of a live grid job's owner, or Nobody.
func (a *Accounts) Of(id jjm.GridID) int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if uid, ok := a.m[id]; ok {
		return uid
	}
	return Nobody
}
