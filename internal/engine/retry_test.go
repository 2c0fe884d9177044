package engine_test

import (
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// always returns a play that is the same for every attempt.
func always(p adaptertest.Play) func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
	return func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play { return p }
}

func TestRetry_LimitsOfGBSByClass(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		job      string
		play     adaptertest.Play
		state    jjm.State
		phase    jjm.Phase
		attempts int // the total number of attempts
	}{
		"early": {mc(1), adaptertest.Play{Keyword: "-", Exit: 1, Life: time.Minute}, jjm.Failed,
			jjm.ByLimit, 21},
		"late, asked for": {mc(1), adaptertest.Play{Keyword: "RETRY", Data: "x", Life: time.Hour}, jjm.Failed,
			jjm.ByLimit, 6},
		"late, not asked for": {mc(1), adaptertest.Play{Keyword: "-", Exit: 1, Life: time.Hour}, jjm.Failed,
			jjm.ByLimit, 2},
		"never starts": {mc(1), adaptertest.Play{NoClaim: true, Exit: 1}, jjm.Failed, jjm.ByLimit, 21},
		// The failure is classified by the application's log, which has one entry.
		"no result": {mc(1), adaptertest.Play{NoResult: true, Exit: 1, Life: 10 * time.Minute}, jjm.Failed,
			jjm.ByLimit, 21},
		"no memory": {mc(1), adaptertest.Play{State: jjm.BatchOOM, Life: time.Hour}, jjm.Failed, jjm.ByLimit,
			2},
		"no time": {mc(1), adaptertest.Play{State: jjm.BatchTimeout, Life: time.Hour}, jjm.Failed,
			jjm.ByLimit, 2},
		"says FAILED": {mc(1), adaptertest.Play{Keyword: "FAILED", Data: "bad data"}, jjm.Failed, jjm.ByApp,
			1},
		"says HOLD": {mc(1), adaptertest.Play{Keyword: "HOLD", Data: "look"}, jjm.Held, jjm.HeldByApp, 1},
		"own limits": {mc(1, "[retry]", "max_retry_early = 2"), adaptertest.Play{Keyword: "-", Exit: 1},
			jjm.Failed, jjm.ByLimit, 3},
		"exit job":                   {plain(1), adaptertest.Play{Keyword: "-", Exit: 1}, jjm.Failed, jjm.ByApp, 1},
		"exit job, signal":           {plain(1), adaptertest.Play{Keyword: "-", Signal: 11}, jjm.Failed, jjm.ByApp, 1},
		"exit job that never starts": {plain(1), adaptertest.Play{NoClaim: true, Exit: 1}, jjm.Failed, jjm.ByLimit, 21},
		"exit job with limits": {plain(1, "[retry]", "max_retry_early = 3"),
			adaptertest.Play{Keyword: "-", Exit: 1, Life: time.Minute}, jjm.Failed, jjm.ByLimit, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := func(c *engineConfig) { // this test is about the number of attempts, not about the time between them
				c.Harvest, c.Poll, c.Backoff = jjm.Duration(time.Minute), jjm.Duration(2*time.Minute), jjm.Duration(time.Second)
			}
			inWorld(t, options{play: always(test.play), config: slow}, func(t *testing.T, w *world) {
				id := w.submit(alice, test.job)
				w.until(80*time.Hour, "over or held", func() bool {
					l := w.lookup(id)
					return l.Counts.Failed+l.Counts.Held == 1
				})
				l := w.locals(id)[0]
				if l.State != test.state || l.Phase != test.phase || l.Message == "" {
					t.Errorf("%s/%s, %q; want %s/%s", l.State, l.Phase, l.Message, test.state, test.phase)
				}
				attempts, err := w.store.Attempts(t.Context(), l.ID)
				w.must(err)
				if len(attempts) != test.attempts {
					t.Errorf("%d attempts, want %d", len(attempts), test.attempts)
				}
				if test.state == jjm.Held {
					w.kill(id.String())
				}
				w.final(time.Hour, id)
				w.verifyQuiet()
			})
		})
	}
}

func TestRetry_WaitsLongerEveryTimeUnlessAskedFor(t *testing.T) {
	t.Parallel()
	waits := func(t *testing.T, w *world, id jjm.GridID) []time.Duration {
		attempts, err := w.store.Attempts(t.Context(), jjm.LocalID{Grid: id})
		w.must(err)
		var out []time.Duration
		for i := 1; i < len(attempts); i++ {
			out = append(out, attempts[i].Evidence.Batch.Submitted.Sub(attempts[i-1].Ended).Round(10*time.Second))
		}
		return out
	}
	t.Run("not asked for", func(t *testing.T) {
		inWorld(t, options{play: always(adaptertest.Play{NoClaim: true, Exit: 1})}, func(t *testing.T, w *world) {
			id := w.submit(alice, mc(1, "[retry]", "max_retry_early = 8"))
			w.final(80*time.Hour, id)
			want := []time.Duration{2, 4, 8, 16, 32, 60, 60, 60}
			got := waits(t, w, id)
			for i, d := range want {
				if i >= len(got) || got[i] != d*time.Minute {
					t.Fatalf("waits %v, want %v minutes", got, want)
				}
			}
		})
	})
	t.Run("asked for", func(t *testing.T) {
		inWorld(t, options{play: always(adaptertest.Play{Keyword: "RETRY", Data: "x"})}, func(t *testing.T, w *world) {
			id := w.submit(alice, mc(1, "[retry]", "max_retry_early = 3"))
			w.final(80*time.Hour, id)
			for _, d := range waits(t, w, id) {
				if d > 10*time.Second {
					t.Errorf("waits %v", waits(t, w, id))
				}
			}
		})
	})
}

func TestRetry_ContinuesToWaitAfterARestart(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{NoClaim: id.Attempt < 5, Exit: int(max(0, 5-id.Attempt))}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.until(24*time.Hour, "the fifth attempt waits", func() bool {
			l := w.locals(id)[0]
			return l.Attempt == 5 && l.Phase == jjm.RetryWait
		})
		before := w.locals(id)[0]
		w.reopen()
		if now := w.locals(id)[0]; now.NotBefore != before.NotBefore || now.Counters != before.Counters {
			t.Errorf("%+v, before the restart %+v", now, before)
		}
		w.pass(20 * time.Minute)
		if l := w.locals(id)[0]; l.Phase != jjm.RetryWait {
			t.Errorf("tried again too early: %s/%s", l.State, l.Phase)
		}
		w.final(3*time.Hour, id)
		w.verify(id, done(2))
		w.verifyQuiet()
	})
}
