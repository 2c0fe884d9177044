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

// A batch system accepts only some jobs of an account. Bulks become smaller until they fit, the accepted jobs run, and
// the others wait with the batch system's message. Every job ends once.
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
				if ends := w.engine.Counts().Attempts; len(ends) != 0 {
					t.Errorf("ends of attempts of which none was in the batch system: %v", ends)
				}
				w.final(24*time.Hour, id)
				w.verify(id, done(30))
				w.verifyQuiet()
			})
		})
	}
}

// A batch system accepts only two jobs for a while. When the limit is gone, bulks become large again.
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

// A limit on the jobs of one owner does not stop the submissions of other owners.
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

// The batch system accepts only smaller bulks from now on. A bulk that is submitted again is broken up. The limit
// applies to the size of a bulk, not to the number of jobs that the account may have.
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

// A queue accepts only three jobs of an account. The bulks for this queue are never larger, so that none is refused for
// its size.
func TestTooMany_BulksObeyTheLimitOfTheirQueue(t *testing.T) {
	t.Parallel()
	sim := adaptertest.SimConfig{QueueMaxJobs: map[string]int{"few": 3}, Life: 10 * time.Minute}
	inWorld(t, options{sim: sim}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(10, `request.queue = "few"`))
		w.running(id, 3)
		w.final(24*time.Hour, id)
		w.verify(id, done(10))
		w.verifyQuiet()
	})
}

// The engine learns from refusals how many jobs an account may have. Administrators and the account itself see this
// limit, until jjm forgets it.
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

// A submission that is refused because of a limit on the number of jobs does not use up a retry.
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

// An account has reached its limit of jobs, and one local job waits. If this local job is cancelled, other grid jobs of
// the account can be submitted again.
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

// The batch system refuses a submission with a text that the adapter does not know. The submission is repeated for a
// day; then it fails.
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

// The batch system refuses submissions with a text that the adapter does not know, and stops this within a day. The
// local jobs then run in their first attempts.
func TestUnexplained_PassesWithoutATrace(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.sim.OnSubmit(slices.Repeat([]adaptertest.Fault{adaptertest.Mutter}, 20)...)
		id := w.submit(alice, mc(3))
		w.final(23*time.Hour, id)
		w.verify(id, done(3))
	})
}
