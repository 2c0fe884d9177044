package fair

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// job is the type of the keys in these tests: job n of the account uid.
type job struct{ uid, n int }

// bench runs a Keyed whose runs last as long as the test wants, and counts the runs.
type bench struct {
	k    *Keyed[job]
	mu   sync.Mutex
	now  map[int]int // the number of present runs of each account
	most map[int]int
	done []job
}

func newBench(width int, lasts func(job) time.Duration) *bench {
	b := &bench{now: map[int]int{}, most: map[int]int{}}
	b.k = NewKeyed(width, time.Second, func(j job) int { return j.uid }, func(ctx context.Context, j job) time.Duration {
		b.mu.Lock()
		b.now[j.uid]++
		b.most[j.uid] = max(b.most[j.uid], b.now[j.uid])
		b.mu.Unlock()
		Pause(ctx, lasts(j))
		b.mu.Lock()
		b.now[j.uid]--
		b.done = append(b.done, j)
		b.mu.Unlock()
		return 0
	})
	return b
}

func (b *bench) of(uid int) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.done {
		if j.uid == uid {
			n++
		}
	}
	return n
}

// kicked kicks n keys of an account.
func (b *bench) kicked(uid, n int) {
	for i := range n {
		b.k.Kick(job{uid, i})
	}
}

func (b *bench) run(t *testing.T, test func()) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); b.k.Run(ctx) }()
	test()
	stop()
	<-ended
}

func TestKeyed_AnAccountWithMuchWorkGetsHalfBesideAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(4, func(job) time.Duration { return 100 * time.Millisecond })
		b.run(t, func() {
			b.kicked(1, 1000)
			time.Sleep(time.Second)
			if b.of(1) < 36 {
				t.Errorf("alone it has had %d turns, want those of all places", b.of(1))
			}
			b.kicked(2, 100)
			before := b.of(1)
			time.Sleep(time.Second + 50*time.Millisecond)
			if one, two := b.of(1)-before, b.of(2); two < 18 || one < 18 || one > 24 {
				t.Errorf("%d and %d turns, want alike", one, two)
			}
		})
		if b.most[1] != 4 {
			t.Errorf("%d runs of one account at once, want all places while they are free", b.most[1])
		}
	})
}

func TestKeyed_SlowAccountsDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(2, func(j job) time.Duration {
			if j.uid > 1 {
				return time.Hour
			}
			return time.Millisecond
		})
		b.run(t, func() {
			for uid := range 3 {
				b.kicked(2+uid, 10)
			}
			time.Sleep(5 * time.Second)
			b.kicked(1, 100)
			time.Sleep(10 * time.Second)
			if n := b.of(1); n != 100 {
				t.Errorf("%d turns of 100 beside three accounts that are slow", n)
			}
		})
		for uid := range 3 {
			if b.most[2+uid] > 2 {
				t.Errorf("account %d: %d runs at once, want at most the width", 2+uid, b.most[2+uid])
			}
		}
	})
}

func TestKeyed_AnyNumberOfSlowAccountsReleaseTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan int, 1)
		k := ByAccount(1, time.Second, func(ctx context.Context, uid int) time.Duration {
			if uid == 0 {
				ran <- uid
			} else {
				Pause(ctx, time.Hour)
			}
			return 0
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); k.Run(ctx) }()
		for uid := range 50 {
			k.Kick(1 + uid)
		}
		k.Kick(0)
		<-ran
		k.KickIn(0, time.Minute)
		<-ran
		stop()
		<-ended
	})
}

// A key that is kicked during its run is run once more afterwards. The two runs never overlap.
func TestKeyed_AKickDuringARunIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(4, func(job) time.Duration { return 10 * time.Second })
		b.run(t, func() {
			b.k.Kick(job{1, 1})
			time.Sleep(5 * time.Second)
			b.k.Kick(job{1, 1})
			b.k.Kick(job{1, 1})
			time.Sleep(time.Minute)
			if b.of(1) != 2 || b.most[1] != 1 {
				t.Errorf("%d runs, %d at once", b.of(1), b.most[1])
			}
			b.k.mu.Lock()
			defer b.k.mu.Unlock()
			if len(b.k.backlog.lanes) != 0 || len(b.k.backlog.round) != 0 {
				t.Errorf("left: %v", b.k.backlog.lanes)
			}
		})
	})
}
