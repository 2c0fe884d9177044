package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// If an account may have fewer jobs than a bulk has, the jobs within the limit run, and the others wait with the batch
// system's message. Every job ends once.
func TestTooMany_BulksShrinkUntilTheyFit(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"ten": 10, "two": 2, "one": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := adaptertest.SimConfig{MaxJobs: limit, Life: 10 * time.Minute}
			inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
				id := w.submit(alice, mc(30))
				w.running(id, limit)
				w.pass(time.Minute)
				all := w.status(id)
				if !strings.Contains(all.WaitsFor, "simulated: at most") {
					t.Errorf("waits for %q", all.WaitsFor)
				}
				w.final(24*time.Hour, id)
				w.verify(id, done(30))
				w.verifyQuiet()
			})
		})
	}
}

// Other jobs of the group take the places for a while. When the limit has passed, bulks become
// large again.
func TestTooMany_ALimitThatPassesIsForgotten(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{MaxJobs: 2, Life: time.Hour}
	inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(100))
		w.running(id, 2)
		w.sim.SetMaxJobs(0)
		w.running(id, 100)
		w.final(6*time.Hour, id)
		w.verify(id, done(100))
	})
}

// The limit of one owner does not stop the submissions of other owners.
func TestTooMany_OthersGoOn(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{MaxJobs: 5, Life: time.Hour}
	inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
		first := w.submit(alice, mc(20))
		w.running(first, 5)
		w.pass(time.Minute)
		second := w.submit(bob, mc(5))
		w.running(second, 5)
		w.final(12*time.Hour, first, second)
		w.verify(first, done(20))
		w.verify(second, done(5))
	})
}

// If the batch system takes only smaller bulks from now on, a bulk that is submitted again is broken up. This limits
// the size of a bulk, not how many jobs the account may have.
func TestTooMany_ASmallerLimitOfABulkIsNoLimitOfTheAccount(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{Settle: time.Minute, Life: 10 * time.Hour}
	inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
		w.sim.OnSubmit(adaptertest.LoseRequest)
		id := w.submit(alice, mc(30))
		w.pass(time.Second)
		w.sim.SetMaxBulk(10)
		w.running(id, 30)
		if got := w.site("sim").Learnt; got != nil {
			t.Errorf("learnt %+v, and the account has 30 jobs", got)
		}
		w.final(24*time.Hour, id)
		w.verify(id, done(30))
		w.verifyQuiet()
	})
}

// Administrators and the account itself see the limit that refusals revealed, until jjm forgets it.
func TestTooMany_ClustersTellTheLearntLimit(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{MaxJobs: 10, Life: 10 * time.Hour}
	inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
		if got := w.site("sim").Learnt; got != nil {
			t.Errorf("before any refusal: %+v", got)
		}
		began := jjm.At(w.now())
		id := w.submit(bob, mc(30))
		w.running(id, 10)
		learnt := w.site("sim").Learnt
		if len(learnt) != 1 {
			t.Fatalf("%d learnt limits, want 1: %+v", len(learnt), learnt)
		}
		l := learnt[0]
		if l.Account != "bob (uid 70001)" || l.Jobs < 1 || l.Jobs > 10 || l.Since < began ||
			l.Until != l.Since.Add(time.Hour) || !strings.Contains(l.Cause, "simulated: at most 10 jobs") {
			t.Errorf("learnt %+v", l)
		}
		if got := w.engine.Clusters(t.Context(), bob)[0].Learnt; len(got) != 1 {
			t.Errorf("the account itself is told %+v", got)
		}
		if got := w.engine.Clusters(t.Context(), wire.Caller{UID: 70002, User: "carol"})[0].Learnt; got != nil {
			t.Errorf("another account is told %+v", got)
		}
		w.sim.SetMaxJobs(0)
		w.running(id, 30)
		w.pass(time.Hour)
		if got := w.site("sim").Learnt; got != nil {
			t.Errorf("an hour after the last refusal: %+v", got)
		}
		w.final(24*time.Hour, id)
	})
}

// If one account runs the jobs of all users, every user sees the limit of this account.
func TestTooMany_TheLimitOfTheCommonAccountIsToldToAll(t *testing.T) {
	t.Parallel()
	common := jjm.Owner{User: "jjm", UID: 990, GID: 990}
	sim := adaptertest.SimConfig{MaxJobs: 2, Life: time.Hour}
	inWorld(t, options{sim: sim, account: &common}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(5))
		w.running(id, 2)
		got := w.engine.Clusters(t.Context(), bob)[0].Learnt
		if len(got) != 1 || got[0].Account != "jjm (uid 990)" {
			t.Errorf("learnt %+v", got)
		}
		w.final(24*time.Hour, id)
	})
}

// Refusals use up no retry.
func TestTooMany_RefusalsCountAgainstNobody(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{MaxJobs: 1, Life: time.Minute}
	inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(12, "[retry]", "max_retry_early = 1"))
		w.final(6*time.Hour, id)
		w.verify(id, done(12))
		for _, l := range w.locals(id) {
			if l.Attempt > 12 {
				t.Errorf("%s has %d attempts", l.ID, l.Attempt)
			}
		}
	})
}

// If the only waiting local job is cancelled, other grid jobs of the account can be submitted again.
func TestTooMany_ACancelOfTheOneThatWaitsFreesTheAccount(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{MaxJobs: 3, Life: time.Hour}
	inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.running(id, 3)
		second := w.submit(alice, mc(1))
		w.pass(time.Minute)
		third := w.submit(alice, mc(2))
		w.pass(time.Minute)
		w.kill(second.String())
		w.sim.SetMaxJobs(5)
		w.running(third, 2)
		w.final(6*time.Hour, id, second, third)
		w.verifyQuiet()
	})
}

// A refusal in words that the adapter does not know is tried again for a day, whatever it means.
func TestUnexplained_IsTriedAgainForADay(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.sim.OnSubmit(slices.Repeat([]adaptertest.Fault{adaptertest.Mutter}, 1000)...)
		id := w.submit(alice, mc(3))
		w.pass(23 * time.Hour)
		if l := w.lookup(id); l.Counts.Submitting != 3 {
			t.Errorf("after 23 hours: %+v", l.Counts)
		}
		w.final(3*time.Hour, id)
		for _, l := range w.locals(id) {
			if l.State != jjm.Failed || !strings.Contains(l.Message, "for 24 h") ||
				!strings.Contains(l.Message, "words that nobody knows") {
				t.Errorf("%s is %s: %q", l.ID, l.State, l.Message)
			}
		}
	})
}

// If a refusal in unknown words ends within a day, it costs no attempt.
func TestUnexplained_PassesWithoutATrace(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.sim.OnSubmit(slices.Repeat([]adaptertest.Fault{adaptertest.Mutter}, 20)...)
		id := w.submit(alice, mc(3))
		w.final(23*time.Hour, id)
		w.verify(id, done(3))
	})
}
