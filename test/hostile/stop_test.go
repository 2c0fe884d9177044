package hostile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// few is the configuration of an embedded batch system that limits the jobs of each account.
const few = site.Local + "max_running_per_user = 3\nmax_pending_per_user = 3\n"

// brief is the part of a job file that requests a walltime of 2 s, so that stopped jobs also end soon.
const brief = "[request]\nwalltime = \"2s\"\n"

// submits makes the hostile account submit grid jobs one after another until stop is called.
func (s *siege) submits() (stop func()) {
	s.t.Helper()
	file := filepath.Join(s.Home(s.mallory), "hers.toml")
	s.Must(os.WriteFile(file, []byte(site.Script("exec true", brief)), 0o644))
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond): // pause: between two submissions
			}
			_, _ = s.JJM(s.mallory, "submit", file) // refused while mallory is banned
		}
	}()
	return func() { close(over); <-done }
}

// slowPath makes the path of the hostile account's wrapper, which is in a folder of that account, slow to resolve for
// the kernel: thirty links of two thousand steps each.
func (s *siege) slowPath() {
	s.t.Helper()
	const script = `cd "$1" && mv bin real && dots=$(printf './%.0s' $(seq 1900)) && at=real &&
		for i in $(seq 30); do ln -s "$dots$at" l$i && at=l$i || exit 1; done && ln -s $at bin`
	out, err := s.mallory.As("/bin/sh", "-c", script, "sh",
		filepath.Join(s.Dir, "s", "work", s.mallory.Name)).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// stopping waits until the attacker has stopped one more process, even if only to examine the process, or until a
// process of mallory's stays stopped.
func (s *siege) stopping() error {
	before, still := s.counted("stopped"), 0
	for end := time.Now().Add(hang); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if still = len(s.stoppedOf(s.mallory)); still > 0 || s.counted("stopped") > before {
			return nil
		}
	}
	return fmt.Errorf("%d processes were stopped in all, and none is now", before)
}

// stoppedOf returns the stopped processes of an account (proc_pid_stat(5)).
func (s *siege) stoppedOf(p site.Person) (pids []int) {
	for _, pid := range p.Processes("") {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " "); strings.HasPrefix(rest,
			"T") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// An account can stop its own processes. If a child of the daemon already belonged to the account between fork and
// exec, the child would have copies of the daemon's open files, and the daemon would wait for the child.
func TestStop_EveryProcessOfAnAccountHoldsUpNobodyElse(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for name, attacker := range map[string]string{"every process": "attack-stop-all",
		"every process between its fork and its program": "attack-stop-starts"} {
		t.Run(name, func(t *testing.T) {
			s := besiege(t, site.Settings{RunAs: "owner", Clusters: few})
			var stop, still func()
			s.withstands(attack{
				name: "SIGSTOP to " + name,
				begin: func() {
					s.Final(s.Submit(s.mallory, site.Script("echo before", brief)), "done")
					s.slowPath()
					still = s.attacker(attacker)
					stop = s.submits()
				},
				inForce: s.stopping,
				end:     func() { still(); s.mallory.KillAll(); stop() },
			})
			t.Logf("signals that reached a process of the account: %d", s.counted("stopped"))
		})
	}
}

// Stopped processes that survive a killed daemon hold no lock and no file of the daemon, so a new daemon starts.
func TestStop_ADaemonKilledBesideStoppedProcessesStartsAgain(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	s := besiege(t, site.Settings{RunAs: "owner", Clusters: few})
	s.Final(s.Submit(s.mallory, site.Script("echo before", brief)), "done")
	s.slowPath()
	still := s.attacker("attack-stop-starts")
	stop := s.submits()
	defer func() { still(); s.mallory.KillAll(); stop() }()
	for range full(20, 3) {
		s.Must(s.stopping())
		s.Must(s.Daemon.Process.Kill())
		<-s.Ended()
		s.Start()
		s.echo()
	}
}

// The daemon treats messages on a helper's socket as messages of the account, and the helper treats them as orders of
// the daemon. Therefore no process of the account may take the socket from the helper.
func TestTake_TheSocketOfAHelperIsOutOfReach(t *testing.T) {
	s := besiege(t, site.Settings{RunAs: "owner", Clusters: few})
	var stop, still func()
	tries := 0
	taking := func() error {
		if n := s.counted("taken"); n > 0 {
			return fmt.Errorf("a helper's socket was taken %d times", n)
		}
		for end := time.Now().Add(2 * hang); s.counted("tries") <= tries; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				return errors.New("no helper to take the socket of")
			}
		}
		tries = s.counted("tries")
		return nil
	}
	s.withstands(attack{
		name: "pidfd_getfd(2) and ptrace(2) of helpers from their first moment",
		begin: func() {
			still = s.attacker("attack-take-sockets")
			stop = s.submits()
		},
		inForce: taking,
		end:     func() { still(); s.mallory.KillAll(); stop() },
	})
}

// The program of a job is in its owner's area. Mallory mounts a file system that never answers on the program. A
// process that executes the program as mallory then hangs between the change to her account and the exec, for as long
// as she likes.
func TestStop_AStartHeldAtItsExecHoldsUpNobody(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	s := besiege(t, site.Settings{RunAs: "owner"})
	var held *needs.FUSE
	s.withstands(attack{
		name: "the exec of her job's program is never answered",
		begin: func() {
			s.Final(s.Submit(s.mallory, site.Script("true")), "done")
			wrappers, err := filepath.Glob(filepath.Join(s.Dir, "s/work", s.mallory.Name, "bin/*/jjm-wrapper"))
			s.Must(err)
			if len(wrappers) != 1 {
				s.t.Fatalf("her area has %d wrappers: %v", len(wrappers), wrappers)
			}
			held = needs.MountFUSE(s.t, wrappers[0], s.mallory.UID)
			held.Freeze()
			s.Submit(s.mallory, site.Script("true"))
			s.Until("a start of hers waits at its exec", func() bool { return held.Unanswered() > 0 })
		},
		inForce: func() error {
			if held.Unanswered() == 0 {
				return errors.New("nobody waits for the program")
			}
			return nil
		},
		end: func() { held.End() },
	})
}
