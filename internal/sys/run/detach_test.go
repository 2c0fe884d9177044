package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

func detach(t *testing.T, script string, extra ...*os.File) (*Process, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := Detach(Detached{
		Argv: []string{"/bin/sh", "-c", script}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"},
		Stdout: f, Stderr: f, Extra: extra,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, out
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// withAndWithoutPidfd runs test twice: with a pidfd of the process, and without one, as on a kernel before 5.3. test
// must call old on each new process.
func withAndWithoutPidfd(t *testing.T, test func(t *testing.T, old func(p *Process))) {
	t.Run("pidfd", func(t *testing.T) { test(t, func(*Process) {}) })
	t.Run("old kernel", func(t *testing.T) {
		test(t, func(p *Process) {
			if p.fd != nil {
				p.fd.Close()
			}
			p.fd = nil
		})
	})
}

func TestDetach_ReportsTheEnd(t *testing.T) {
	tests := []struct {
		script       string
		exit, signal int
	}{
		{"exit 0", 0, 0}, {"exit 1", 1, 0}, {"exit 255", 255, 0}, {"kill -9 $$", 137, 9}, {"kill -TERM $$", 143, 15},
	}
	withAndWithoutPidfd(t, func(t *testing.T, old func(*Process)) {
		for _, tt := range tests {
			p, _ := detach(t, tt.script)
			old(p)
			ws, ru, err := p.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if exit, signal := Status(ws); exit != tt.exit || signal != tt.signal {
				t.Errorf("%s: exit %d signal %d", tt.script, exit, signal)
			}
			if ru.Maxrss <= 0 {
				t.Errorf("%s: no peak memory", tt.script)
			}
			if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("%s: signal after the end: %v", tt.script, err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestDetach_StartsASessionWithExactlyItsFiles(t *testing.T) {
	extra, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	// The script has no pipeline, because the shell would keep the ends of a pipeline open for a moment.
	p, out := detach(t, `echo $$ $(ps -o sid= -o pgid= -p $$); ls -l /proc/$$/fd; env`, extra)
	defer p.Close()
	if _, _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(read(t, out), "\n")
	ids := strings.Fields(lines[0])
	if len(ids) != 3 || ids[0] != ids[1] || ids[0] != ids[2] || ids[0] != strconv.Itoa(p.PID) {
		t.Errorf("pid, session, group: %q", lines[0])
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{" 0 -> /dev/null", " 1 -> " + out, " 2 -> " + out, " 3 -> /dev/zero",
		"PATH=/usr/bin:/bin"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, " 4 -> ") || strings.Contains(text, "HOME=") {
		t.Errorf("the child inherited more than it was given:\n%s", text)
	}
}

func TestDetach_SaysWhyItCouldNotStart(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		d    Detached
		want error
	}{
		{"no command", Detached{}, nil},
		{"no such program", Detached{Argv: []string{"/no/such"}}, syscall.ENOENT},
		{"not executable", Detached{Argv: []string{plain}}, syscall.EACCES},
		{"no such folder", Detached{Argv: []string{"/bin/true"}, Dir: "/no/such"}, syscall.ENOENT},
		{"NUL in an argument", Detached{Argv: []string{"/bin/true", "\x00"}}, syscall.EINVAL},
		{"too long", Detached{Argv: []string{"/bin/true", strings.Repeat("x", 1<<20)}}, syscall.E2BIG},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Detach(tt.d)
			if err == nil {
				p.Close()
				t.Fatal("it started")
			}
			if jjm.KindOf(err) != jjm.Invalid || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, kind %q", err, jjm.KindOf(err))
			}
		})
	}
}

func TestDetach_ErrorsOfTheMachineAreBusy(t *testing.T) {
	for _, e := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE} {
		if k := startKind(fmt.Errorf("fork: %w", e)); k != jjm.Busy {
			t.Errorf("%v: kind %q", e, k)
		}
	}
}

func TestSignal_ReachesTheWholeGroup(t *testing.T) {
	p, out := detach(
		t, `trap 'echo parent; wait; exit 7' TERM; sh -c 'trap "echo child; exit" TERM; echo ready; while :; do sleep 0.02; done' & wait; wait`)
	defer p.Close()
	waitFor(t, func() bool { return strings.Contains(read(t, out), "ready") })
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ws, _, err := p.Wait()
	if err != nil || ws.ExitStatus() != 7 {
		t.Errorf("status %d, error %v", ws.ExitStatus(), err)
	}
	if text := read(t, out); !strings.Contains(text, "parent") || !strings.Contains(text, "child") {
		t.Errorf("signalled: %q", text)
	}
}

func TestClose_EndsAWaitAndLeavesTheProcessAlone(t *testing.T) {
	withAndWithoutPidfd(t, func(t *testing.T, old func(*Process)) {
		p, _ := detach(t, "sleep 100")
		old(p)
		got := make(chan error)
		go func() { _, _, err := p.Wait(); got <- err }()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-got; !errors.Is(err, os.ErrClosed) {
			t.Errorf("wait: %v", err)
		}
		again, err := Adopt(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if err := again.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		// The process is still a child of this process, and Adopt detects this.
		ws, _, err := again.Wait()
		if err != nil || ws.Signal() != syscall.SIGKILL {
			t.Errorf("status %v, error %v", ws, err)
		}
	})
}

func TestAdopt_NoticesTheEndOfAnotherParentsChild(t *testing.T) {
	withAndWithoutPidfd(t, func(t *testing.T, old func(*Process)) {
		// The shell ends immediately; its detached child continues as a child of init.
		p, out := detach(t, `setsid sh -c 'echo $$; sleep 0.3' & exit`)
		defer p.Close()
		if _, _, err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		var pid int
		waitFor(t, func() bool {
			_, err := fmt.Sscan(read(t, out), &pid)
			return err == nil
		})
		stranger, err := Adopt(pid)
		if err != nil {
			t.Fatal(err)
		}
		defer stranger.Close()
		old(stranger)
		if _, _, err := stranger.Wait(); !errors.Is(err, ErrNotChild) {
			t.Errorf("error %v", err)
		}
	})
}

func TestAdopt_RefusesPidsOfNoJob(t *testing.T) {
	for _, pid := range []int{-1, 0, 1} {
		if _, err := Adopt(pid); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("pid %d: %v", pid, err)
		}
	}
	p, _ := detach(t, "exit 0")
	defer p.Close()
	if _, _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := Adopt(p.PID); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("an ended process: %v", err)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	await.True(t, "what the process does", ok)
}

func BenchmarkDetach(b *testing.B) {
	for b.Loop() {
		p, err := Detach(Detached{Argv: []string{"/bin/true"}})
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := p.Wait(); err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil {
		b.ReportMetric(float64(ru.Utime.Nano()+ru.Stime.Nano())/float64(b.N)/1e3, "self-cpu-us/op")
	}
}
