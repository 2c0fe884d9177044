package survival_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// submitted submits a grid job and fails the test if it is refused.
func (s *site) submitted(d design) jjm.GridID {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), finalWithin)
	defer cancel()
	id, err := s.submit(ctx, d)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// started waits until n runs are in the ledger.
func (s *site) started(d design, n int) {
	s.t.Helper()
	s.await(fmt.Sprintf("%d local jobs start", n), s.patience, func() bool {
		runs, err := readLedger(s.ledgerOf(d))
		if err != nil {
			s.t.Fatal(err)
		}
		return len(runs) >= n
	})
}

func TestSurvival_SIGTERMLeavesJobsRunning(t *testing.T) {
	t.Parallel()
	for _, glf := range []bool{true, false} {
		t.Run(fmt.Sprintf("glf=%v", glf), func(t *testing.T) {
			if !glf {
				needs.Campaign(t, needs.Faults)
			}
			t.Parallel()
			s := newSite(t, settings{slots: 4})
			d := design{jobs: 6, glf: glf, seconds: 5, key: "once"}
			s.startReady()
			id := s.submitted(d)
			s.started(d, 4)
			s.stop()
			// At least four wrappers and four applications.
			if left := s.processes(); len(left) < 8 {
				t.Fatalf("%d processes of 4 local jobs go on after SIGTERM: %v", len(left), left)
			}
			s.startReady()
			s.final(id)
			s.verify(id, d)
		})
	}
}

func TestSurvival_JobsEndWhileNoDaemonIsThere(t *testing.T) {
	t.Parallel()
	s := newSite(t, settings{slots: 8})
	d := design{jobs: 8, glf: true, seconds: 1, key: "once"}
	s.startReady()
	id := s.submitted(d)
	s.started(d, 8)
	s.kill()
	s.await("all local jobs end without a daemon", finalWithin, func() bool { return len(s.processes()) == 0 })
	s.startReady()
	s.final(id)
	s.verify(id, d)
}

func TestSurvival_SecondDaemonIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, settings{slots: 2})
	d := design{jobs: 4, seconds: 1, key: "once"}
	first := s.startReady()
	id := s.submitted(d)
	second := s.start("")
	select {
	case <-second.done:
	case <-time.After(aliveWithin):
		t.Fatal("a second daemon on the same state goes on, " + await.Hung)
	}
	s.d = first
	if code := second.cmd.ProcessState.ExitCode(); code != 5 {
		t.Errorf("the second daemon ended with exit code %d, want 5", code)
	}
	log := s.logText()
	for _, want := range []string{"another daemon", fmt.Sprint(first.cmd.Process.Pid), s.state, "stop it first"} {
		if !strings.Contains(log, want) {
			t.Errorf("the refusal does not say %q:\n%s", want, tail(log, 3))
		}
	}
	must(s, wire.VerbPing(), wire.PingRequest{})
	s.final(id)
	s.verify(id, d)
}

// TestSurvival_KillDuringSubmission kills grid jobs of thousands of local jobs while these are made, submitted and
// started. The short form has only one run, in which the daemon dies.
func TestSurvival_KillDuringSubmission(t *testing.T) {
	t.Parallel()
	for i, after := range []time.Duration{0, 10 * time.Millisecond, 60 * time.Millisecond, 200 * time.Millisecond,
		500 * time.Millisecond} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("after=%v,crash=%v", after, crash), func(t *testing.T) {
				jobs := 4000
				if !whole() {
					jobs = 1000
				}
				if i != 2 || !crash {
					needs.Campaign(t, needs.Faults)
				}
				t.Parallel()
				s := newSite(t, settings{slots: 8})
				d := design{jobs: jobs, seconds: 30, key: "once", killed: true}
				s.startReady()
				id := s.submitted(d)
				time.Sleep(after) // this is the time of the kill; the test waits for nothing
				ctx, cancel := context.WithTimeout(context.Background(), finalWithin)
				defer cancel()
				if err := s.killAll(ctx, id.String()); err != nil {
					t.Fatal(err)
				}
				if crash {
					s.kill()
					s.startReady()
				}
				l := s.final(id)
				t.Logf("%d local jobs had been made; %s", l.Counts.Total, l.Message)
				s.verify(id, d)
			})
		}
	}
}
