package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/engine"
	"jjm/internal/jjm"
)

// MaxGridJobsPerUser limits the live grid jobs of each account. The limit also holds for submissions at the same time
// and after a restart. A submission with a request key that is in use still returns its grid job. Other accounts are
// not affected, and after the end of a grid job the account can submit another one.
func TestAllowance_OfGridJobsIsOneAccountsOwn(t *testing.T) {
	inWorld(t, options{config: func(c *engine.Config) { c.MaxGridJobsPerUser = 3 }}, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var taken, refused int
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				_, err := w.trySubmit(alice, fmt.Sprint("key", n), mc(1))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					taken++
				case jjm.KindOf(err) == jjm.Denied && strings.Contains(err.Error(), "engine.max_grid_jobs_per_user allows 3"):
					refused++
				default:
					t.Errorf("submission %d: %v", n, err)
				}
			})
		}
		all.Wait()
		if taken != 3 || refused != 5 {
			t.Fatalf("%d taken and %d refused: want 3 and 5", taken, refused)
		}
		w.reopen()
		existed := 0
		for n := range 8 {
			if s, err := w.trySubmit(alice, fmt.Sprint("key", n), mc(1)); err == nil && s.Existed {
				existed++
			} else if jjm.KindOf(err) != jjm.Denied {
				t.Errorf("again %d: %+v, %v", n, s, err)
			}
		}
		if existed != 3 {
			t.Errorf("%d keys get their grid job: want 3", existed)
		}
		w.submit(bob, mc(1))
		w.until(time.Hour, "there is room again", func() bool {
			_, err := w.trySubmit(alice, "later", mc(1))
			return err == nil
		})
	})
}

// While an account has too many live local jobs, its next grid job is refused.
func TestAllowance_OfLocalJobsRefusesTheNextGridJob(t *testing.T) {
	inWorld(t, options{config: func(c *engine.Config) { c.MaxLocalJobsPerUser = 5 }}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		w.until(time.Hour, "its local jobs are made", func() bool { return len(w.locals(id)) == 6 })
		refused := func() {
			t.Helper()
			_, err := w.trySubmit(alice, "next", mc(1))
			if jjm.KindOf(err) != jjm.Denied ||
				!strings.Contains(err.Error(), "6 live local jobs, and engine.max_local_jobs_per_user allows 5") {
				t.Fatalf("have %v: want a refusal", err)
			}
		}
		refused()
		w.reopen()
		refused()
		w.submit(bob, mc(1))
		w.until(time.Hour, "there is room again", func() bool {
			_, err := w.trySubmit(alice, "next", mc(1))
			return err == nil
		})
	})
}
