package operations_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/testkit/site"
)

// world is a site with a daemon, accounts and grid jobs. A seed decides which operations happen.
type world struct {
	*site.Site
	t      *testing.T
	r      *rand.Rand
	people []site.Person
	jobs   []*job
	told   map[string]answer // the first final answer to the gatekeeper, by grid job
	seen   tally
	kills  int
}

// newWorld starts a site with the given clusters.
func newWorld(t *testing.T, seed uint64, clusters string, people []site.Person) *world {
	t.Helper()
	s := site.New(t, &bin, site.Settings{RunAs: "owner", Clusters: clusters})
	w := &world{Site: s, t: t, r: rand.New(rand.NewPCG(seed, 0)), people: people, told: map[string]answer{},
		seen: tally{}}
	s.Must(os.WriteFile(w.ledger(), nil, 0o666))
	s.Must(os.Chmod(w.ledger(), 0o666)) // whatever the umask is
	return w
}

// ledger returns the path of the file to which the applications write.
func (w *world) ledger() string { return filepath.Join(w.Dir, "ledger") }

// kill kills the daemon with SIGKILL and waits for its end.
func (w *world) kill() {
	w.t.Helper()
	w.kills++
	w.Must(w.Daemon.Process.Kill())
	<-w.Ended()
	status, ok := w.Daemon.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGKILL {
		w.t.Fatalf("the daemon ended with %v, want killed by SIGKILL", w.Daemon.ProcessState)
	}
}

// moment sleeps for a random time below limit. Nothing is awaited: the sleep chooses the time of a fault.
func (w *world) moment(limit time.Duration) { time.Sleep(time.Duration(w.r.Int64N(int64(limit)))) }

// said is the outcome of a command.
type said struct {
	out  string
	exit int
	err  string // standard error
}

// jjm runs a command as an account.
func (w *world) jjm(p site.Person, args ...string) said {
	w.t.Helper()
	out, err := w.JJM(p, args...)
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		w.t.Fatal(err)
	}
	if failed != nil {
		return said{out, failed.ExitCode(), err.Error()}
	}
	return said{out: out}
}

// lines parses an answer of one JSON object per line.
func lines[T any](text string) ([]T, error) {
	var all []T
	for line := range strings.Lines(text) {
		var one T
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// one parses an answer of one JSON object.
func one[T any](w *world, what string, s said) T {
	w.t.Helper()
	all, err := lines[T](s.out)
	if err != nil || len(all) != 1 {
		w.t.Fatalf("jjm %s: exit %d, %d objects, want 1: %v\n%s\n%s", what, s.exit, len(all), err, s.out, s.err)
	}
	return all[0]
}
