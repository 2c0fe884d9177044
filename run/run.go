// Package run starts every child process of jjm: nothing else of the project
// imports os/exec or forks.
//
// [Run] is for commands that answer: it has a deadline, caps what it keeps of
// the output, and ends the whole process group when time is up. [Detach] is for
// jobs that outlive their starter: a session of their own, and files instead
// of pipes, so that neither the end nor the death of the daemon touches them.
// What is detached as another account becomes it in a program of its own, after
// its exec: no account ever owns a process that shares anything with the daemon,
// or that the daemon waits for before it goes on.
//
// A [Runner], given with [Through], takes the commands of [Run] over, to run them
// as another account: package run/asuser has one.
//
// What a command's exit status or output means is left to the caller: a
// non-zero exit is not an error here.
package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm"
)

// The defaults of a Cmd. The deadline is that of the slowest gatekeeper's
// patience; the output cap holds the listing of 100 000 jobs at 160 bytes a
// line.
const (
	DefaultDeadline  = 30 * time.Second
	DefaultMaxOutput = 16 << 20
)

// openPipes is how long a command's pipes may stay open after its end. On a
// machine that is busy, another child between fork and exec holds a copy of
// them for seconds (more than five, at a load of 50).
const openPipes = 15 * time.Second

// grace is the time between TERM and KILL.
const grace = 2 * time.Second

// Cmd is a command that answers.
type Cmd struct {
	// Argv is the command and its arguments; Argv[0] is looked up on jjm's own
	// PATH unless it has a slash.
	Argv []string
	// Dir is the working directory, "" for jjm's own.
	Dir string
	// Env is the whole environment, "NAME=value" each; nothing is inherited.
	Env []string
	// Home is the HOME that the command has whoever a Runner runs it as; "" for that of
	// Env, or the Runner's account.
	Home string
	// Stdin is what the command reads.
	Stdin []byte
	// Deadline bounds the run; 0 means DefaultDeadline.
	Deadline time.Duration
	// MaxOutput caps, in bytes, what is kept of each stream; 0 means
	// DefaultMaxOutput. The command may write more: it is read and dropped, unless
	// EndAtMax is set: then reading stops, and the command is ended.
	MaxOutput int64
	EndAtMax  bool
	// MaxMemory caps, in bytes, the private memory of the command and, for each by
	// itself, of what it starts (RLIMIT_DATA of setrlimit(2), set when it has begun);
	// 0 means no cap of jjm's. Beyond it the command gets no more memory, and ends as
	// it does then.
	MaxMemory int64
}

// Output is what a command left.
type Output struct {
	Stdout, Stderr []byte
	// Exit is the exit code, 128+n after signal n; Signal is n, else 0.
	Exit, Signal int
	// Truncated is set when a stream was longer than MaxOutput. Exit and Signal then
	// say nothing of a command that was ended for it (EndAtMax).
	Truncated bool
	// Wall is how long it ran.
	Wall time.Duration
}

// Run runs c to its end. When ctx ends or the deadline passes, the process
// group gets TERM, and KILL two seconds later; a child that left the group and
// keeps a pipe open delays Run by five seconds at most. Under a context of
// [Through] the Runner runs it.
//
// The error is nil whatever the exit status. It is of kind Invalid for an empty
// command, Busy when the command could not be started and so surely did
// nothing, Ambiguous (wrapping context.DeadlineExceeded or context.Canceled)
// when it was stopped, and Ambiguous when its pipes never closed; in the last
// two cases the Output holds what there is. A command that was ended at
// MaxOutput is no error: its Output is Truncated.
func Run(ctx context.Context, c Cmd) (Output, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return Output{}, jjm.Errorf(jjm.Invalid, "run: empty command")
	}
	if r := runnerOf(ctx); r != nil {
		return r.Run(ctx, c)
	}
	if err := ctx.Err(); err != nil {
		return Output{}, jjm.Errorf(jjm.Busy, "run %s: not started: %w", c.Argv[0], err)
	}
	ctx, cancel := context.WithTimeout(ctx, limitOf(c.Deadline))
	defer cancel()

	var stdout, stderr capped
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var e ending
	e.prepare(cmd, c, &stdout, &stderr, cancel)
	stop := stopGroup(cmd)
	defer stop.end()

	start := time.Now()
	if err := cmd.Start(); err != nil {
		return Output{}, jjm.Errorf(jjm.Busy, "run %s: not started: %w", c.Argv[0], err)
	}
	if e.bound = boundMemory(cmd.Process.Pid, c.MaxMemory); e.bound != nil {
		cancel()
	}
	e.waited = cmd.Wait()
	out := Output{
		Stdout: stdout.buf.Bytes(), Stderr: stderr.buf.Bytes(),
		Truncated: stdout.cut || stderr.cut,
		Wall:      time.Since(start),
	}
	out.Exit, out.Signal = statusOf(cmd)
	e.stopped, e.whole, e.cause = stop.began.Load(), stdout.eof && stderr.eof, ctx.Err()
	return out, e.err(c.Argv[0], out)
}

// limitOf is how long a command may run that has a deadline, or 0 for none of its own.
func limitOf(deadline time.Duration) time.Duration {
	if deadline > 0 {
		return deadline
	}
	return DefaultDeadline
}

// statusOf returns the exit code and the signal of a command that was waited for.
func statusOf(cmd *exec.Cmd) (exit, signal int) {
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		return Status(ws)
	}
	return 0, 0
}

// ending is how a command came to its end.
type ending struct {
	full    atomic.Bool // it was ended for what it wrote
	bound   error       // it was ended because its memory could not be bounded
	stopped bool        // it was ended, for whatever reason
	cause   error       // of its context
	whole   bool        // both its streams came to their end
	waited  error       // what os/exec says
}

// prepare sets up a command whose streams are kept in stdout and stderr; cancel ends it.
func (e *ending) prepare(cmd *exec.Cmd, c Cmd, stdout, stderr *capped, cancel func()) {
	stdout.left, stderr.left = maxOutput(c), maxOutput(c)
	if c.EndAtMax {
		end := func() { e.full.Store(true); cancel() }
		stdout.full, stderr.full = end, end
	}
	cmd.Dir = c.Dir
	cmd.Env = append([]string{}, c.Env...) // not nil: nil would inherit
	cmd.Stdin = bytes.NewReader(c.Stdin)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// err returns the error that an ending is, as Run gives it; nil for a command that ended
// by itself, or at its cap.
func (e *ending) err(name string, out Output) error {
	switch exit := (*exec.ExitError)(nil); {
	case e.bound != nil:
		return jjm.Errorf(jjm.Ambiguous, "run %s: stopped: %w", name, e.bound)
	case e.full.Load():
		return nil
	case e.stopped:
		return jjm.Errorf(jjm.Ambiguous, "run %s: stopped after %v: %w%s",
			name, out.Wall.Round(time.Millisecond), e.cause, hint(out.Stderr))
	case !e.whole:
		// os/exec tells this only of a command that exited with 0.
		return jjm.Errorf(jjm.Ambiguous,
			"run %s: ended with exit %d, but something it started kept its output open for %v more: %w",
			name, out.Exit, openPipes, exec.ErrWaitDelay)
	case e.waited != nil && !errors.As(e.waited, &exit):
		return jjm.Errorf(jjm.Ambiguous, "run %s: %w", name, e.waited)
	}
	return nil
}

func maxOutput(c Cmd) int64 {
	if c.MaxOutput > 0 {
		return c.MaxOutput
	}
	return DefaultMaxOutput
}

// Status splits a wait status as a shell would: the exit code, 128+n after
// signal n, and the signal or 0.
func Status(ws syscall.WaitStatus) (exit, signal int) {
	if ws.Signaled() {
		return 128 + int(ws.Signal()), int(ws.Signal())
	}
	return ws.ExitStatus(), 0
}

// stopper ends a command's process group.
type stopper struct {
	began atomic.Bool
	group int // negative, as kill(2) wants it
	kill  *time.Timer
}

// stopGroup makes cmd stop by its group. The KILL comes a little before the
// moment at which os/exec gives up on the pipes, so that a group that ignores
// TERM is dead by then.
func stopGroup(cmd *exec.Cmd) *stopper {
	s := &stopper{}
	cmd.WaitDelay = openPipes
	cmd.Cancel = func() error {
		s.began.Store(true)
		s.group = -cmd.Process.Pid
		s.kill = time.AfterFunc(grace, func() { _ = syscall.Kill(s.group, syscall.SIGKILL) })
		return syscall.Kill(s.group, syscall.SIGTERM)
	}
	return s
}

// end kills at once what is left of a stopped group: the command itself has
// been waited for, and the group's number cannot be used anew while a member
// lives.
func (s *stopper) end() {
	if s.began.Load() && s.kill.Stop() {
		_ = syscall.Kill(s.group, syscall.SIGKILL)
	}
}

// hint adds the first line of what the command complained of.
func hint(stderr []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(stderr[:min(len(stderr), 400)])), "\n")
	if line == "" {
		return ""
	}
	return " (" + line + ")"
}

// boundMemory sets the cap of a process that has just started: it gets no more than
// max bytes of private memory from now on, whatever it took in its first moment. One
// that has ended already, or that became another account's by its own file's mode
// (setuid), is left alone.
func boundMemory(pid int, max int64) error {
	if max <= 0 {
		return nil
	}
	err := unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(max), Max: uint64(max)}, nil)
	if err == nil || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return fmt.Errorf("bound its memory to %d bytes (prlimit(2), RLIMIT_DATA): %w", max, err)
}

// capped keeps the first bytes read from a stream and drops the rest; with full set
// it calls that instead, once, and reads no more. It is an io.ReaderFrom, which
// os/exec prefers, to see whether the stream came to its end.
type capped struct {
	buf  bytes.Buffer
	left int64
	cut  bool
	eof  bool
	full func()
}

func (w *capped) Write(p []byte) (int, error) {
	keep := min(int64(len(p)), w.left)
	w.buf.Write(p[:keep])
	w.left -= keep
	w.cut = w.cut || keep < int64(len(p))
	return len(p), nil
}

// ReadFrom reads r to its end, or to the cap.
func (w *capped) ReadFrom(r io.Reader) (n int64, err error) {
	chunk := make([]byte, 32<<10)
	for {
		got, err := r.Read(chunk)
		n += int64(got)
		_, _ = w.Write(chunk[:got])
		if w.cut && w.full != nil {
			w.full()
			return n, nil // os/exec closes the pipe: who writes on gets SIGPIPE
		}
		if errors.Is(err, io.EOF) {
			w.eof = true
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
