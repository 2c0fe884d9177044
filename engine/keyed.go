package engine

import (
	"context"
	"sync"
	"time"
)

// keyed runs one function for many keys: never twice at once for one key, at
// most width at a time in all, and once more for a key that was kicked while
// it ran. The function's answer is when to come back by itself, 0 for never.
type keyed[K comparable] struct {
	do   func(context.Context, K) time.Duration
	sem  chan struct{}
	wake chan struct{}

	mu     sync.Mutex
	queue  []K
	queued map[K]bool
	busy   map[K]bool
	timers map[K]*time.Timer
}

func newKeyed[K comparable](width int, do func(context.Context, K) time.Duration) *keyed[K] {
	return &keyed[K]{
		do: do, sem: make(chan struct{}, max(width, 1)), wake: make(chan struct{}, 1),
		queued: map[K]bool{}, busy: map[K]bool{}, timers: map[K]*time.Timer{},
	}
}

// kick asks for a run of key.
func (k *keyed[K]) kick(key K) {
	k.mu.Lock()
	if t := k.timers[key]; t != nil {
		t.Stop()
		delete(k.timers, key)
	}
	if !k.queued[key] {
		k.queued[key] = true
		k.queue = append(k.queue, key)
	}
	k.mu.Unlock()
	kick(k.wake)
}

// take gives the first key that is not running.
func (k *keyed[K]) take() (K, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, key := range k.queue {
		if !k.busy[key] {
			k.queue = append(k.queue[:i], k.queue[i+1:]...)
			delete(k.queued, key)
			k.busy[key] = true
			return key, true
		}
	}
	var none K
	return none, false
}

// finish ends a run and arms the timer of the next one.
func (k *keyed[K]) finish(key K, again time.Duration) {
	k.mu.Lock()
	delete(k.busy, key)
	if again > 0 && !k.queued[key] && k.timers[key] == nil {
		k.timers[key] = time.AfterFunc(again, func() { k.kick(key) })
	}
	k.mu.Unlock()
	kick(k.wake)
}

// run serves kicks until ctx ends, then waits for the running functions.
func (k *keyed[K]) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer k.stopTimers()
	defer wg.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case k.sem <- struct{}{}:
		}
		key, ok := k.take()
		if !ok {
			<-k.sem
			select {
			case <-ctx.Done():
				return
			case <-k.wake:
			}
			continue
		}
		wg.Go(func() {
			again := k.do(ctx, key)
			<-k.sem
			k.finish(key, again)
		})
	}
}

func (k *keyed[K]) stopTimers() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.timers {
		t.Stop()
	}
}
