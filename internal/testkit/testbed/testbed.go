// Package testbed lets tests use the real batch systems that scripts/testbed installs and starts. This needs Debian and
// root. If Debian or root is missing, a test is skipped or fails by the rules of package needs.
package testbed

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// Bed is a running batch system.
type Bed struct {
	// Bin is the folder of its commands.
	Bin string
	// Env is the environment that its commands need.
	Env map[string]string
	// Owner is the account as which the bed's jobs run. The commands in Bin, started as root, act for this account.
	Owner jjm.Owner
	// Vars are all variables that "scripts/testbed/NAME.sh env" printed.
	Vars map[string]string
	// script is the path of the bed's script.
	script string
	hold   *Hold
}

// startTime is the deadline for starting a bed, including its installation.
var startTime = await.Guard(12 * time.Minute)

// statusTime is the deadline of a bed's status. The guard is short because a frozen bed does not answer.
var statusTime = await.Guard(time.Minute)

// Start starts a bed ("slurm", "condor", "sge") unless it already runs, and lets it run after the test. Until the end
// of t other tests may use the bed at the same time, except tests that called StartAlone. If no test uses the bed,
// Start first removes the bed's jobs, and rebuilds the bed if it does not work.
func Start(t testing.TB, name string) *Bed { return start(t, name, false) }

// StartAlone starts a bed like Start, for a test that disturbs the batch system. It waits until no other test uses the
// bed, and excludes other tests until the end of t. HTCondor has a second pool for such tests, "condor2". A test,
// including its parents, may call Start or StartAlone at most once.
//
// Both functions skip the test if the step of the run does not have this bed; see [needs.System].
func StartAlone(t testing.TB, name string) *Bed { return start(t, name, true) }

func start(t testing.TB, name string, alone bool) *Bed {
	t.Helper()
	needs.System(t, name)
	needs.Root(t, "to install and start "+name)
	needs.Debian(t)
	b := &Bed{script: filepath.Join(root(t), "scripts", "testbed", name+".sh")}
	b.enter(t, name, alone)
	b.Vars = variables(b.Do(t, "env"))
	b.Bin, b.Env = b.Vars["BIN"], map[string]string{}
	for key, value := range b.Vars {
		if name, ok := strings.CutPrefix(key, "ENV_"); ok {
			b.Env[name] = value
		}
	}
	b.Owner = account(t, b.Vars["OWNER"])
	return b
}

// enter takes a lock on the bed until the end of t, and starts the bed.
func (b *Bed) enter(t testing.TB, name string, alone bool) {
	t.Helper()
	h, err := Enter(name, alone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Leave() })
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the bed %s at the end of this failed test:\n%s", name, b.status())
		}
	})
	b.hold = h
	b.Do(t, "up")
	if h.Alone && !alone {
		if err := h.Share(); err != nil {
			t.Fatal(err)
		}
	}
}

// status returns the output of the bed's script about its daemons and jobs, or the text of an error.
func (b *Bed) status() string {
	out, err := run.Run(context.Background(),
		run.Cmd{Argv: []string{b.script, "status"}, Env: os.Environ(), Deadline: statusTime})
	if err != nil {
		return err.Error()
	}
	return string(out.Stdout) + string(out.Stderr)
}

// Do runs the bed's script with the arguments and returns its output. Every script has the verbs up, down, status, env,
// heal, lose history and keep history; the package of a bed documents further verbs.
func (b *Bed) Do(t testing.TB, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	out, err := run.Run(ctx, run.Cmd{Argv: append([]string{b.script}, args...), Env: append(os.Environ(), b.hold.Env()...),
		Deadline: startTime})
	if err != nil || out.Exit != 0 {
		t.Fatalf("%s %v: exit %d, error %v\n%s%s", b.script, args, out.Exit, err, out.Stdout, out.Stderr)
	}
	return string(out.Stdout)
}

// Dir returns a new folder in which jobs of the bed's owner can write. The batch system sees the folder under the same
// path. The folder is removed after the test.
func (b *Bed) Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(temp(), "jjm-bed-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chown(dir, b.Owner.UID, b.Owner.GID); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // independent of the umask
		t.Fatal(err)
	}
	return dir
}

// temp returns a folder that the batch systems see too: the folder of the test run if it is below /tmp, because
// HTCondor's daemons see only a few folders of this machine.
func temp() string {
	if dir := os.TempDir(); strings.HasPrefix(dir, "/tmp/") {
		return dir
	}
	return "/tmp"
}

// root returns the folder of the module.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// variables reads lines of NAME=value.
func variables(text string) map[string]string {
	vars := map[string]string{}
	for s := bufio.NewScanner(bytes.NewBufferString(text)); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), "="); ok {
			vars[name] = value
		}
	}
	return vars
}

func account(t testing.TB, name string) jjm.Owner {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatalf("the owner of the test bed's jobs: %v", err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err1 != nil || err2 != nil {
		t.Fatalf("account %s has uid %q, gid %q", name, u.Uid, u.Gid)
	}
	return jjm.Owner{UID: uid, GID: gid, User: name}
}
