package idealize_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"jjm/adapters"
	"jjm/adapters/idealize"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// as is a runner for tests of accounts: it has the uid of an account, and runs no commands.
type as int

func (a as) UID() int { return int(a) }
func (a as) Run(context.Context, run.Cmd) (run.Output, error) {
	return run.Output{}, jjm.Errorf(jjm.Internal, "nothing is run here")
}

// The accounts of these tests.
const mallory, bob = as(70_001), as(70_002)

func by(ctx context.Context, a as) context.Context { return run.WithRunner(ctx, a) }

// held is a batch system in which all commands of some accounts hang.
type held struct {
	*scripted
	mu   sync.Mutex
	by   map[int]bool
	most map[int]int // largest number of simultaneous commands, by account
	now  map[int]int
}

func (h *held) at(ctx context.Context, by int) error {
	h.mu.Lock()
	h.now[by]++
	h.most[by] = max(h.most[by], h.now[by])
	stuck := h.by[by]
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.now[by]--
	}()
	if !stuck {
		return nil
	}
	<-ctx.Done()
	return jjm.Errorf(jjm.Ambiguous, "stopped: %w", ctx.Err())
}

func (h *held) Submit(ctx context.Context, _ adapters.Bulk) (adapters.Receipt, error) {
	return adapters.Receipt{ID: "1"}, h.at(ctx, run.UID(ctx))
}

func (h *held) List(ctx context.Context, _ jjm.Owner, _ time.Time) (adapters.Listing, error) {
	return adapters.Listing{}, h.at(ctx, run.UID(ctx))
}

func (h *held) Control(ctx context.Context, _ jjm.Owner, _ adapters.Op, jobs []adapters.Ref) ([]error, error) {
	return make([]error, len(jobs)), h.at(ctx, run.UID(ctx))
}

// Probe runs as the daemon: it must never be sent as an account.
func (h *held) Probe(ctx context.Context) error { return h.at(ctx, run.UID(ctx)) }

func newHeld(by ...as) *held {
	h := &held{scripted: &scripted{}, by: map[int]bool{}, most: map[int]int{}, now: map[int]int{}}
	for _, a := range by {
		h.by[int(a)] = true
	}
	return h
}

// noProbe hides the Prober of an adapter.
type noProbe struct{ adapters.Adapter }

func TestAccount_OneWhoseCommandsHangOpensOnlyItsOwnBreaker(t *testing.T) {
	for name, probes := range map[string]bool{"with a probe": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var inner adapters.Adapter = newHeld(mallory)
				if !probes {
					inner = noProbe{inner}
				}
				c := idealize.Defaults()
				c.RetryFor = 0
				a := idealize.Wrap(inner, c, idealize.Deps{})
				var last error
				for range 6 {
					for _, verb := range []idealize.Verb{idealize.Submit, idealize.List, idealize.Control} {
						last = ask(by(t.Context(), mallory), a, verb, "t")
					}
				}
				if last == nil {
					t.Fatal("her commands are answered")
				}
				if s := status(a); s.Breaker.State != idealize.Closed || s.Breaker.Failures != 0 {
					t.Errorf("after her trouble the breaker is %+v", s.Breaker)
				}
				began := time.Now()
				_ = ask(by(t.Context(), mallory), a, idealize.Submit, "t")
				if took := time.Since(began); took != 0 {
					t.Errorf("her next command is sent, and takes %v: want her own breaker open", took)
				}
				for _, verb := range []idealize.Verb{idealize.Submit, idealize.List, idealize.Control} {
					if err := ask(by(t.Context(), bob), a, verb, "t"); err != nil {
						t.Errorf("bob's %v: %v", verb, err)
					}
				}
			})
		})
	}
}

func TestAccount_TwoWithoutAnAnswerOpenTheSharedBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(mallory, bob)
		c := idealize.Defaults()
		c.RetryFor = 0
		a := idealize.Wrap(noProbe{h}, c, idealize.Deps{})
		for range 3 {
			_ = ask(by(t.Context(), mallory), a, idealize.List, "")
			_ = ask(by(t.Context(), bob), a, idealize.List, "")
		}
		if s := status(a); s.Breaker.State != idealize.Open {
			t.Fatalf("the breaker is %v", s.Breaker.State)
		}
		h.mu.Lock()
		clear(h.by)
		h.mu.Unlock()
		time.Sleep(c.BreakerWait.D())
		if err := ask(by(t.Context(), bob), a, idealize.List, ""); err != nil || status(a).Breaker.State != idealize.Closed {
			t.Errorf("after the trouble: %v, %v", err, status(a).Breaker.State)
		}
	})
}

func TestAccount_OneHasHalfOfThePlacesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(mallory)
		c := idealize.Defaults()
		c.ParallelCommands, c.RetryFor = 4, 0
		a := idealize.Wrap(noProbe{h}, c, idealize.Deps{})
		var all sync.WaitGroup
		for i := range 40 {
			verb := []idealize.Verb{idealize.Submit, idealize.Control}[i%2]
			all.Go(func() { _ = ask(by(t.Context(), mallory), a, verb, "t") })
		}
		synctest.Wait()
		began := time.Now()
		for _, verb := range []idealize.Verb{idealize.Submit, idealize.List, idealize.Control} {
			if err := ask(by(t.Context(), bob), a, verb, "t"); err != nil {
				t.Errorf("bob's %v: %v", verb, err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("bob waited %v", took)
		}
		all.Wait()
		if n := h.most[int(mallory)]; n != 2 {
			t.Errorf("%d of her commands ran at once, want 2", n)
		}
	})
}

func TestAccount_OneHasHalfOfTheCommandsPerMinuteAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		c := idealize.Defaults()
		c.CommandsPerMinute, c.RetryFor = 20, 0
		a := idealize.Wrap(noProbe{h}, c, idealize.Deps{})
		var all sync.WaitGroup
		began := time.Now()
		for range 15 {
			all.Go(func() { _ = ask(by(t.Context(), mallory), a, idealize.Control, "") })
		}
		synctest.Wait()
		for range 8 {
			if err := ask(by(t.Context(), bob), a, idealize.List, ""); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("bob waited %v", took)
		}
		all.Wait() // mallory's remaining commands run when the minute is over
		if took := time.Since(began); took != time.Minute {
			t.Errorf("hers took %v", took)
		}
	})
}
