package hostile_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// helperAttacker returns a process of the hostile account that repeatedly attacks the account's helper or the commands
// that the helper runs. which is the beginning of their command lines. do is a shell command in which "$p" is the id of
// the attacked process.
func (s *siege) helperAttacker(which, do string) *exec.Cmd {
	s.t.Helper()
	return s.mallory.As("/bin/sh", "-c", fmt.Sprintf(`
each() { # of the account's processes whose command line begins with a word
	for d in /proc/[0-9]*; do
		p=${d#/proc/}
		[ $p != $$ ] || continue
		line=
		IFS= read -r line 2>/dev/null <$d/cmdline || [ -n "$line" ] || continue
		case $line in %s*) "$@" ;; esac
	done
}
sig() { kill -$1 $p 2>/dev/null && echo $1; }
blink() { sig CONT; /bin/true; sig STOP; }
blink() { sig CONT; /bin/true; sig STOP; }
while :; do %s; done`, which, do))
}

// attackHelpers runs an attack by helperAttacker, while the hostile account has many running grid jobs and submits more
// grid jobs at every check.
func (s *siege) attackHelpers(name, which, do string) {
	s.t.Helper()
	cmd := s.helperAttacker(which+s.mallory.Name, do)
	signals, err := os.Create(filepath.Join(s.Dir, "signals")) // the signals that the attacker sent
	s.Must(err)
	defer signals.Close()
	cmd.Stdout = signals
	sent := func() int64 {
		info, err := signals.Stat()
		s.Must(err)
		return info.Size()
	}
	jobs := full(60, 20)
	work := func() { // a job that the helper must prepare, harvest and collect
		s.Submit(s.mallory, site.Script("head -c 4000000 /dev/zero; sleep 1", `cluster = "own"`)+"count = 2\n")
	}
	s.withstands(attack{
		name: name,
		begin: func() {
			for i := range jobs { // each job has a separate bulk, which stays open
				s.Submit(s.mallory, site.Script("sleep 600", `cluster = "own"`))
				s.Until("one more bulk", func() bool { return len(s.bulks()) > i })
			}
			s.Must(cmd.Start())
			s.Until("the helper gets signals", func() bool { return sent() > 0 })
		},
		inForce: func() error {
			if cmd.Process.Signal(nothing) != nil || len(s.mallory.Processes("sh")) == 0 {
				return errors.New("nobody attacks the helper any more")
			}
			if work(); sent() == 0 {
				return errors.New("the helper gets no signals")
			}
			return nil
		},
		end: func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); s.mallory.KillAll() },
	})
}

const helper = "jjm-helper-of-"

// nothing is signal 0, which only checks whether a process exists (kill(2)).
const nothing = syscall.Signal(0)

// A helper is stopped for a little less than the time after which the daemon would kill it. It still answers every
// ping, but needs seconds for every other request.
func TestSlow_AHelperThatDelaysEveryAct(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	s := besiege(t, site.Settings{RunAs: "owner", Clusters: fmt.Sprintf(own, 100)})
	s.attackHelpers("a helper that takes 4 s for every act", helper, "each blink; sleep 3.5")
}

func TestSlow_AHelperThatIsStoppedAndGoesOn(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	s := besiege(t, site.Settings{RunAs: "owner", Clusters: fmt.Sprintf(own, 100)})
	s.attackHelpers("STOP and CONT of a helper", helper, "each sig STOP; sleep 7; each sig CONT; sleep 0.5")
}

func TestSlow_AHelperThatIsKilled(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	s := besiege(t, site.Settings{RunAs: "owner", Clusters: fmt.Sprintf(own, 100)})
	s.attackHelpers("kill -9 of a helper", helper, "each sig KILL; sleep 0.2")
}
