package engine_test

import (
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/policy/health"
	"jjm/internal/testkit/adaptertest"
)

// Counts returns the number of local jobs of live grid jobs by state, the number of jobs in each batch system, and the
// number of all ends since the daemon started.
func TestCounts_ShowJobsAndTheirEnds(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 0 && id.Attempt == 0 {
			return adaptertest.Play{Keyword: "RETRY", Data: "x", Life: time.Hour}
		}
		return adaptertest.Play{Life: time.Hour}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.running(id, 3)
		n := w.engine.Counts()
		if n.Grids[jjm.GridRunning] != 1 || n.Locals[jjm.Running] != 3 ||
			n.Clusters["sim"].Jobs[jjm.Running] != 3 || n.Clusters["sim"].Submitted != 3 {
			t.Errorf("while 3 local jobs run: %+v", n)
		}
		if len(n.Attempts) != 0 || n.Collected != 0 {
			t.Errorf("before the first end: %+v", n)
		}
		w.until(3*time.Hour, "the first end asks for a retry", func() bool {
			return w.engine.Counts().Attempts[health.End{Action: jjm.Retry, Level: "USER", Class: "LATE_HANDLED"}] == 1
		})
		w.final(5*time.Hour, id)
		n = w.engine.Counts()
		if n.Attempts[health.End{Action: jjm.Complete, Level: "USER"}] != 3 || n.GridsEnded[jjm.Done] != 1 ||
			n.Collected != w.specOf(id).TarBytes || n.Collected == 0 {
			t.Errorf("at the end: %+v", n)
		}
		if sim := n.Clusters["sim"]; sim.Submitted != 4 || sim.Submissions < 2 || sim.Jobs != [jjm.NumStates]int{} {
			t.Errorf("at the end: %+v", sim)
		}
	})
}

// A local job that waits for its next attempt is not counted as a job of the batch system.
func TestCounts_LeaveOutWhatWaitsForARetry(t *testing.T) {
	t.Parallel()
	config := func(c *engineConfig) { c.Backoff = jjm.Duration(time.Hour) }
	inWorld(t, options{config: config, play: always(adaptertest.Play{Keyword: "-", Exit: 1})},
		func(t *testing.T, w *world) {
			id := w.submit(alice, mc(1))
			w.until(time.Hour, "a wait for the retry", func() bool {
				ls := w.locals(id)
				return len(ls) == 1 && ls[0].Phase == jjm.RetryWait
			})
			n := w.engine.Counts()
			if n.Locals[jjm.Submitting] != 1 || n.Clusters["sim"].Jobs != [jjm.NumStates]int{} {
				t.Errorf("%+v", n)
			}
			w.kill(id.String())
			w.final(time.Hour, id)
			if n := w.engine.Counts(); n.GridsEnded[jjm.Aborted] != 1 {
				t.Errorf("after the kill: %+v", n)
			}
		})
}
