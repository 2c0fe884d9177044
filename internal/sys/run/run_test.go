package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
)

// hang is the deadline of commands that end by themselves.
var hang = await.Guard(5 * time.Minute)

func sh(script string) run.Cmd {
	return run.Cmd{Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Deadline: hang}
}

func TestRun_ReportsOutputAndExit(t *testing.T) {
	tests := []struct {
		name, script, stdin string
		exit, signal        int
		stdout, stderr      string
	}{
		{name: "success", script: "echo out; echo err >&2", stdout: "out\n", stderr: "err\n"},
		{name: "exit 1", script: "exit 1", exit: 1},
		{name: "exit 255", script: "exit 255", exit: 255},
		{name: "killed by a signal", script: "kill -9 $$", exit: 137, signal: 9},
		{name: "stdin", script: "cat", stdin: "hello", stdout: "hello"},
		{name: "stdin not read", script: "exit 3", stdin: strings.Repeat("x", 1<<20), exit: 3},
		{name: "NUL and odd bytes", script: `printf 'a\000\377b'`, stdout: "a\x00\xffb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := sh(tt.script)
			c.Stdin = []byte(tt.stdin)
			out, err := run.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if out.Exit != tt.exit || out.Signal != tt.signal {
				t.Errorf("exit %d signal %d, want %d and %d", out.Exit, out.Signal, tt.exit, tt.signal)
			}
			if string(out.Stdout) != tt.stdout || string(out.Stderr) != tt.stderr {
				t.Errorf("stdout %q stderr %q, want %q and %q", out.Stdout, out.Stderr, tt.stdout, tt.stderr)
			}
			if out.Truncated {
				t.Error("truncated")
			}
		})
	}
}

func TestRun_EnvironmentIsExact(t *testing.T) {
	t.Setenv("JJM_TEST_SECRET", "leaked")
	for name, env := range map[string][]string{"none": nil, "given": {"A=1", "B=x y"}} {
		t.Run(name, func(t *testing.T) {
			out, err := run.Run(t.Context(), run.Cmd{Argv: []string{"/usr/bin/env"}, Env: env, Dir: "/", Deadline: hang})
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			for _, e := range env {
				want += e + "\n"
			}
			if string(out.Stdout) != want {
				t.Errorf("environment %q, want %q", out.Stdout, want)
			}
		})
	}
}

func TestRun_CapsEachStream(t *testing.T) {
	c := sh("head -c 3000000 /dev/zero; echo short >&2")
	c.MaxOutput = 1000
	out, err := run.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Stdout, make([]byte, 1000)) || string(out.Stderr) != "short\n" || !out.Truncated {
		t.Errorf("kept %d and %d bytes, truncated %v", len(out.Stdout), len(out.Stderr), out.Truncated)
	}
}

func TestRun_RefusesWhatCannotStart(t *testing.T) {
	tests := []struct {
		name string
		c    run.Cmd
		want jjm.Kind
	}{
		{"no command", run.Cmd{}, jjm.Invalid},
		{"empty name", run.Cmd{Argv: []string{""}, Deadline: hang}, jjm.Invalid},
		{"no such program", run.Cmd{Argv: []string{"/no/such/program"}, Deadline: hang}, jjm.Busy},
		{"not on PATH", run.Cmd{Argv: []string{"no-such-program-jjm"}, Deadline: hang}, jjm.Busy},
		{"no such folder", run.Cmd{Argv: []string{"/bin/true"}, Dir: "/no/such", Deadline: hang}, jjm.Busy},
		{"NUL in an argument", run.Cmd{Argv: []string{"/bin/echo", "a\x00b"}, Deadline: hang}, jjm.Busy},
		{"NUL in the environment", run.Cmd{Argv: []string{"/bin/echo"}, Env: []string{"A=\x00"}, Deadline: hang}, jjm.Busy},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := run.Run(t.Context(), tt.c)
			if jjm.KindOf(err) != tt.want {
				t.Errorf("error %v of kind %q, want kind %q", err, jjm.KindOf(err), tt.want)
			}
		})
	}
}

func TestRun_DoesNotStartOnceTheContextEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := run.Run(ctx, sh("exit 0"))
	if jjm.KindOf(err) != jjm.Busy || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRun_StopsTheGroupAtTheDeadline(t *testing.T) {
	tests := []struct{ name, script string }{
		{"obeys TERM", "echo begun; echo trouble >&2; sleep 100"},
		{"ignores TERM", "trap '' TERM; echo begun; echo trouble >&2; sleep 100; sleep 100"},
		{"has a child that keeps the pipe", "trap '' TERM; echo begun; echo trouble >&2; sleep 100 & wait; sleep 100"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := sh(tt.script)
			c.Deadline = await.Provoked(200 * time.Millisecond)
			out, err := run.Run(t.Context(), c) // Run must return before the command ends by itself
			for ; !strings.Contains(fmt.Sprint(err), "trouble") && c.Deadline < await.Guard(time.Minute); c.Deadline *= 2 {
				out, err = run.Run(t.Context(), c) // the machine was too slow: the script did not print yet
			}
			if jjm.KindOf(err) != jjm.Ambiguous || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "trouble") {
				t.Errorf("error %q does not say what the command complained of", err)
			}
			if string(out.Stdout) != "begun\n" {
				t.Errorf("stdout %q", out.Stdout)
			}
		})
	}
}

func TestRun_StopsWhenTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun := filepath.Join(t.TempDir(), "begun")
	ended := make(chan error, 1)
	go func() {
		_, err := run.Run(ctx, sh(": >'"+begun+"'; sleep 100"))
		ended <- err
	}()
	await.True(t, "the command runs", func() bool { _, err := os.Stat(begun); return err == nil })
	cancel()
	err := await.Receive(t, "the end of the command", ended)
	if jjm.KindOf(err) != jjm.Ambiguous || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRun_IsNotHungByAGrandchildWithThePipe(t *testing.T) {
	t.Parallel()
	// provoked: the grandchild keeps the pipe open
	out, err := run.RunUntil(t.Context(), sh("setsid sleep 3600 & echo $!; exit 5"), await.Provoked(time.Second))
	if jjm.KindOf(err) != jjm.Ambiguous || out.Exit != 5 {
		t.Errorf("error %v, exit %d", err, out.Exit)
	}
	grandchild, err := strconv.Atoi(strings.TrimSpace(string(out.Stdout)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(grandchild, syscall.SIGKILL); err != nil {
		t.Errorf("the grandchild, which still has the pipe: %v: want it to outlive the call", err)
	}
}

// With EndAtMax, Run ends a command whose output reaches MaxOutput. The commands print without end, and one of them
// ignores SIGTERM.
func TestRun_EndsAnEndlessOutputAtItsCap(t *testing.T) {
	for name, script := range map[string]string{
		"on stdout":        "while :; do echo 0123456789; done",
		"on stderr":        "while :; do echo 0123456789 >&2; done",
		"and ignores TERM": "trap '' TERM PIPE; while :; do echo 0123456789; done 2>/dev/null",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sh(script)
			c.MaxOutput, c.EndAtMax, c.Deadline = 1000, true, await.Guard(time.Minute)
			out, err := run.Run(t.Context(), c)
			if err != nil || !out.Truncated {
				t.Errorf("error %v, truncated %v", err, out.Truncated)
			}
			if n := len(out.Stdout) + len(out.Stderr); n != 1000 {
				t.Errorf("%d bytes kept, want 1000", n)
			}
		})
	}
}

// hoard is a shell script that waits until its memory is capped, and then allocates 256 MiB.
const hoard = `while [ "$(ulimit -d)" = unlimited ]; do :; done; exec dd bs=256M count=1 if=/dev/zero of=/dev/null`

func TestRun_CapsTheMemory(t *testing.T) {
	c := sh(hoard)
	c.Env, c.MaxMemory, c.Deadline = append(c.Env, "LC_ALL=C"), 64<<20, await.Guard(time.Minute)
	out, err := run.Run(t.Context(), c)
	if err != nil || out.Exit == 0 || !strings.Contains(string(out.Stderr), "memory") {
		t.Errorf("exit %d, error %v, it said %q", out.Exit, err, out.Stderr)
	}
	small := sh("echo fits")
	small.MaxMemory = 64 << 20
	if out, err = run.Run(t.Context(), small); err != nil || string(out.Stdout) != "fits\n" {
		t.Errorf("a small one: exit %d, error %v, it said %q", out.Exit, err, out.Stderr)
	}
}
