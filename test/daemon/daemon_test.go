// Package daemon_test runs the real daemon and its commands: each test starts a daemon, disturbs or kills it, and
// checks what users see.
package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/programs"
)

const root = "../.."

var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

// daemon is one running daemon, with the folder of its state and files.
type daemon struct {
	t   testing.TB
	dir string
	cmd *exec.Cmd
	env []string
	log *logBuffer
}

// logBuffer collects the daemon's log.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts a daemon with a configuration in a new folder, whose path is short enough for a socket.
func start(t testing.TB, config string, env ...string) *daemon {
	t.Helper()
	return startWith(t, config, env, nil)
}

// startWith starts a daemon as start does. clients are additional environment variables for the commands that talk to
// the daemon.
func startWith(t testing.TB, config string, env, clients []string) *daemon {
	t.Helper()
	dir := shortDir(t)
	d := &daemon{t: t, dir: dir, log: &logBuffer{}}
	d.env = append(os.Environ(), "JJM_STATE="+dir+"/state", "JJM_SOCKET=", "JJM_CONFIG=", "NOTIFY_SOCKET=",
		"WATCHDOG_USEC=")
	d.env = append(d.env, env...)
	args := []string{"serve"}
	if config != "" {
		d.write("jjm.toml", config)
		args = append(args, "--config", dir+"/jjm.toml")
	}
	d.cmd = exec.Command(bin.Path(t, "jjm"), args...) // this process becomes the daemon
	d.cmd.Env, d.cmd.Stderr = d.env, d.log
	d.env = append(slices.Clone(d.env), clients...)
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); _ = d.cmd.Wait() })
	d.eventually("the daemon answers", func() bool { return d.jjm("clusters") == nil })
	return d
}

func (d *daemon) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		d.t.Fatal(err)
	}
}

func (d *daemon) jjm(args ...string) error {
	cmd := bin.Command(d.t, args...)
	cmd.Env = d.env
	return cmd.Run()
}

// eventually waits until ok returns true. If this takes too long, the test ends with an error that contains the
// daemon's log.
func (d *daemon) eventually(what string, ok func() bool) {
	d.t.Helper()
	await.Nil(d.t, what, func() error {
		if ok() {
			return nil
		}
		return fmt.Errorf("the log:\n%s", d.log)
	})
}

func (d *daemon) logs(what string) {
	d.t.Helper()
	d.eventually("a log line "+what, func() bool { return strings.Contains(d.log.String(), what) })
}

func (d *daemon) signal(sig syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		d.t.Fatal(err)
	}
}

func TestReload_TakesOverWhatItCanAndSaysWhatNot(t *testing.T) {
	t.Parallel()
	d := start(t, "log = \"info\"\n")
	d.write("jjm.toml", "log = \"debug\"\n[engine]\npoll = \"2s\"\nworkers = 9\n")
	d.logs("configuration reloaded") // the daemon notices the changed file without a signal
	d.logs("no effect before a restart\" setting=engine.workers")
	d.write("jjm.toml", "log = \"dbug\"\n")
	d.logs("was not reloaded")
	d.logs("want debug, info, warn or error")
	d.write("jjm.toml", "log = \"info\"\n")
	before := strings.Count(d.log.String(), "configuration reloaded")
	d.signal(syscall.SIGHUP)
	d.logs("reload asked for by SIGHUP")
	d.eventually("one more reload", func() bool {
		return strings.Count(d.log.String(), "configuration reloaded") > before
	})
	if err := d.jjm("clusters"); err != nil {
		t.Errorf("after a bad configuration the daemon does not answer: %v", err)
	}
}

func TestNotify_ReadyWatchdogStopping(t *testing.T) {
	t.Parallel()
	sock := filepath.Join(shortDir(t), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: sock, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	d := start(t, "", "NOTIFY_SOCKET="+sock, "WATCHDOG_USEC=200000")
	expect := func(want string) {
		t.Helper()
		buf := make([]byte, 256)
		if err := conn.SetReadDeadline(time.Now().Add(await.Guard(2 * time.Minute))); err != nil {
			t.Fatal(err)
		}
		for {
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("waiting for %s: %v; the log:\n%s", want, err, d.log)
			}
			if strings.Contains(string(buf[:n]), want) {
				return
			}
		}
	}
	expect("READY=1")
	expect("WATCHDOG=1")
	expect("WATCHDOG=1")
	d.signal(syscall.SIGTERM)
	expect("STOPPING=1")
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("SIGTERM: %v, want exit 0; the log:\n%s", err, d.log)
	}
	if !strings.Contains(d.log.String(), `why="terminated signal received"`) {
		t.Errorf("the log does not name the signal:\n%s", d.log)
	}
}

func TestConfigCheck_SaysEveryMistakeWithItsExitCode(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "jjm.toml")
	if err := os.WriteFile(file, []byte("stat = \"/x\"\n[engine]\nworkers = \"four\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := bin.Command(t, "config", "check", file).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("exit %v, want 5", err)
	}
	for _, want := range []string{"2 problems", `did you mean "state"`, "jjm.toml:3"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if out, err := bin.Command(t, "config", "check", root+"/etc/jjm.toml").CombinedOutput(); err != nil {
		t.Errorf("the shipped configuration: %v\n%s", err, out)
	}
}
