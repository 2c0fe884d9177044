// Package fair runs work account by account: an account that is slow, or floods, waits
// alone.
package fair

import (
	"context"
	"math"
	"sync"
	"time"

	"jjm"
)

// Keyed runs one function for many keys: never twice at once for one key, and
// once more for a key that was kicked while it ran. The function's answer is when
// to come back by itself, 0 for never.
//
// Every key belongs to an account, and accounts are served fairly: the next key is
// one of the account with the fewest runs, so that of two accounts with work
// neither gets more than half of the places. At most width runs have a place. One
// that lasts longer than patience leaves its place to others, for it may wait for
// something that its account holds up, and counts among its account's runs alone:
// no account has more than width at once.
type Keyed[K comparable] struct {
	do       func(context.Context, K) time.Duration
	width    int
	most     int // of runs without a place
	patience time.Duration
	wake     chan struct{}

	mu      sync.Mutex
	backlog backlog[K]
	places  int        // taken
	long    int        // runs that left theirs
	busy    map[K]bool // the value: kicked since
	timers  map[K]*time.Timer
	delays  map[K]time.Duration // of kicks that came during a run and have time
}

// backlog is the work that waits, by account.
type backlog[K comparable] struct {
	whose  func(K) int      // the account's uid; it takes no lock of the engine
	lanes  map[int]*lane[K] // of the accounts with work
	round  []*lane[K]       // the same, in the order of their turns
	queued map[K]bool
}

// lane is the work of one account.
type lane[K comparable] struct {
	uid   int
	queue []K
	runs  int
}

// mostLong is how many runs for grid jobs may go on without a place, in widths.
const mostLong = 4

func NewKeyed[K comparable](width int, patience time.Duration, whose func(K) int,
	do func(context.Context, K) time.Duration) *Keyed[K] {
	width = max(width, 1)
	return &Keyed[K]{
		do: do, width: width, most: mostLong * width, patience: patience, wake: make(chan struct{}, 1),
		backlog: backlog[K]{whose: whose, lanes: map[int]*lane[K]{}, queued: map[K]bool{}},
		busy:    map[K]bool{}, timers: map[K]*time.Timer{}, delays: map[K]time.Duration{},
	}
}

// ByAccount makes a keyed whose keys are accounts: each has one run at a time, and
// however many last long, none keeps another waiting.
func ByAccount(width int, patience time.Duration, do func(context.Context, int) time.Duration) *Keyed[int] {
	k := NewKeyed(width, patience, func(uid int) int { return uid }, do)
	k.most = math.MaxInt
	return k
}

// Kick asks for a run of key.
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

// KickIn asks for a run of key after a time, or sooner if something else does.
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

func (k *Keyed[K]) arm(key K, d time.Duration) {
	k.timers[key] = time.AfterFunc(d, func() { k.Kick(key) })
}

// enqueue puts a key into its account's lane.
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

// take returns the first key of the account with the fewest runs, if there is a
// place for it.
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
	// its next turn comes after the others'
	k.backlog.round = append(append(k.backlog.round[:at], k.backlog.round[at+1:]...), l)
	key, l.queue = l.queue[0], l.queue[1:]
	delete(k.backlog.queued, key)
	k.busy[key] = false
	l.runs++
	k.places++
	return key, l, true
}

// outlast takes the place of a run that lasts long, unless too many do.
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

// finish ends a run and arms the timer of the next one.
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

// Run serves kicks until ctx ends, then waits for the running functions.
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

// one runs the function for one key.
func (k *Keyed[K]) one(ctx context.Context, key K, l *lane[K]) {
	left := new(bool) // guarded by mu
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

// Accounts tells whose a grid job is, without a lock of the engine's.
type Accounts struct {
	mu sync.RWMutex
	m  map[jjm.GridID]int
}

func (a *Accounts) Put(id jjm.GridID, uid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil {
		a.m = map[jjm.GridID]int{}
	}
	a.m[id] = uid
}

func (a *Accounts) Drop(id jjm.GridID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.m, id)
}

// Nobody is the account of a grid job that is not live.
const Nobody = -1

// Of returns the uid of a live grid job's owner, else nobody.
func (a *Accounts) Of(id jjm.GridID) int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if uid, ok := a.m[id]; ok {
		return uid
	}
	return Nobody
}
