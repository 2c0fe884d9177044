// Package testbed gives tests the real batch systems that scripts/testbed
// installs and starts: on Debian, as root, which tests need (see needs).
package testbed

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm"
	"jjm/internal/needs"
	"jjm/run"
)

// Bed is a running batch system.
type Bed struct {
	// Bin is the folder of its commands.
	Bin string
	// Env is what its commands want in their environment.
	Env map[string]string
	// Owner is the account that its jobs run as. As root, the commands in Bin
	// act for that account.
	Owner jjm.Owner
	// Vars is everything that "scripts/testbed/NAME.sh env" printed.
	Vars map[string]string
	// script is the bed's own.
	script string
	// alone: no other test uses the bed.
	alone bool
}

// startTime bounds the start of a bed, its installation included.
const startTime = 8 * time.Minute

// Start brings up a bed - "slurm", "condor", "sge" - unless it is up, and
// leaves it up. Other tests may use it at the same time, but none that
// disturbs it, until the end of t. A bed that nobody uses is emptied of jobs
// first, and made anew if it is not well: whoever has jobs on it holds a lock.
func Start(t testing.TB, name string) *Bed { return start(t, name, syscall.LOCK_SH) }

// StartAlone is Start for a test that disturbs the batch system: it waits until
// no other test uses it, and keeps others out until the end of t. Its Do tells
// the bed's script so. A test, its parents included, calls one of the two at
// most once.
func StartAlone(t testing.TB, name string) *Bed { return start(t, name, syscall.LOCK_EX) }

func start(t testing.TB, name string, how int) *Bed {
	t.Helper()
	needs.Root(t, "to install and start "+name)
	needs.Debian(t)
	b := &Bed{script: filepath.Join(root(t), "scripts", "testbed", name+".sh")}
	b.enter(t, name, how)
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

// enter takes the lock of a bed's users, which tests of other processes and the
// scripts take too, and brings the bed up. Who finds nobody there has the bed
// alone meanwhile.
func (b *Bed) enter(t testing.TB, name string, how int) {
	t.Helper()
	f, err := os.OpenFile(lockFile(name), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	lock := func(how int) error {
		for {
			if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
				return err
			}
		}
	}
	if b.alone = lock(syscall.LOCK_EX|syscall.LOCK_NB) == nil; !b.alone {
		if err := lock(how); err != nil {
			t.Fatalf("lock of the test bed %s: %v", name, err)
		}
		b.alone = how == syscall.LOCK_EX
	}
	b.Do(t, "up")
	if b.alone && how == syscall.LOCK_SH {
		if err := lock(how); err != nil {
			t.Fatalf("lock of the test bed %s: %v", name, err)
		}
		b.alone = false
	}
}

// lockFile is where the scripts have it, too (scripts/testbed/common.sh): not
// in the folder for temporary files, which is another one in each test run.
func lockFile(name string) string {
	dir := os.Getenv("JJM_TESTBED")
	if dir == "" {
		dir = "/tmp"
	}
	return filepath.Join(dir, "jjm-testbed-"+name+".lock")
}

// Do runs the bed's script with the arguments and gives what it printed. The
// verbs that every script knows are up, down, status, env, heal, lose history
// and keep history; a bed's own package says what else.
func (b *Bed) Do(t testing.TB, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	env := os.Environ()
	if b.alone {
		env = append(env, "JJM_BED_ALONE=1")
	}
	out, err := run.Run(ctx, run.Cmd{Argv: append([]string{b.script}, args...), Env: env, Deadline: startTime})
	if err != nil || out.Exit != 0 {
		t.Fatalf("%s %v: exit %d, error %v\n%s%s", b.script, args, out.Exit, err, out.Stdout, out.Stderr)
	}
	return string(out.Stdout)
}

// Dir makes a folder that jobs of the bed's owner can write, under a path that
// the batch system sees too, and removes it after the test.
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
	if err := os.Chmod(dir, 0o777); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return dir
}

// temp is a folder that the batch systems see too: that of the test run, if it
// is below /tmp (HTCondor's daemons see a few folders of this machine only).
func temp() string {
	if dir := os.TempDir(); strings.HasPrefix(dir, "/tmp/") {
		return dir
	}
	return "/tmp"
}

// root is the folder of the module.
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
