// Package run starts every child process of jjm: no other package imports os/exec or forks.
//
//	function   for                     must end                          output
//	Run        a command that answers  by its deadline                   kept, up to a cap
//	RunFiles   the same, in a helper   by its deadline, or with its      files of the caller
//	                                   starter
//	Detach     a job, a helper         no, it outlives its starter       files, never a pipe
//
// A command that Detach starts as another account becomes the account in a program of its own, after execve(2). So no
// account ever owns a process that shares memory or descriptors with the daemon, or a process that the daemon waits for
// before it proceeds.
//
// If a [Runner] was put into a context by [WithRunner], it executes the commands of [Run] instead of this process.
// Package internal/sys/asuser has a Runner that runs commands as another account.
//
// The package does not judge exit statuses or output: a non-zero exit is not an error.
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

	"jjm/internal/jjm"
)

// The defaults of a Cmd. 16 MiB can hold the listing of 100 000 jobs with 160 bytes per line.
const (
	DefaultDeadline  = 30 * time.Second
	DefaultMaxOutput = 16 << 20
)

// OpenPipes is the time for which the pipes of a command may stay open after its end. A child of the command may hold
// the pipes open. Any other child of the daemon also holds the pipes open between fork and exec, which takes more than
// five seconds at a load of 50.
const OpenPipes = 15 * time.Second

// grace is the time between SIGTERM and SIGKILL when jjm stops a command.
const grace = 2 * time.Second

// Cmd describes a command for Run.
type Cmd struct {
	// Argv is the command and its arguments. Argv[0] is looked up on jjm's own PATH unless it
	// contains a slash.
	Argv []string
	// Dir is the working directory, "" for jjm's own.
	Dir string
	// Env is the whole environment, "NAME=value" each; nothing is inherited.
	Env []string
	// Home is the command's HOME for every account as which a Runner runs the command; "" means the HOME of Env, or of the
	// Runner's account.
	Home string
	// Stdin is the command's standard input.
	Stdin []byte
	// Deadline is the longest run time of the command; 0 means DefaultDeadline.
	Deadline time.Duration
	// MaxOutput is the number of bytes of each output stream that are kept; 0 means DefaultMaxOutput. Further output is
	// read and dropped, or, with EndAtMax, ends the command.
	MaxOutput int64
	EndAtMax  bool
	// MaxMemory caps, in bytes, the private memory of the command and of each process that it starts (RLIMIT_DATA of
	// setrlimit(2), set just after the start); 0 means no cap. An allocation beyond the cap fails.
	MaxMemory int64
}

// Output is the result of a command.
type Output struct {
	Stdout, Stderr []byte
	// Exit is the exit code, or 128+n if signal n ended the command. Signal is n, or 0.
	Exit, Signal int
	// Truncated is set if a stream was longer than MaxOutput. With EndAtMax, Exit and Signal are then only the result of
	// jjm's signal to the command.
	Truncated bool
	// Wall is the time from start to end.
	Wall time.Duration
}

// Run runs c to its end. When ctx ends or the deadline passes, the process group gets SIGTERM, and SIGKILL two seconds
// later. If a child left the group and keeps a pipe open, Run returns at most 15 s later. If ctx has a Runner
// ([WithRunner]), the Runner runs the command.
//
// The error does not depend on the exit status:
//
//	kind       when                                          Output
//	none       the command ended, or was ended at MaxOutput  complete, or Truncated
//	Invalid    the command is empty                          none
//	Busy       it was not started, so it did nothing         none
//	Ambiguous  it was stopped (wraps the error of ctx)       what there is
//	Ambiguous  its pipes stayed open after its end           what there is
func Run(ctx context.Context, c Cmd) (Output, error) { return runUntil(ctx, c, OpenPipes) }

// runUntil is Run with another time for which the pipes may stay open.
func runUntil(ctx context.Context, c Cmd, pipes time.Duration) (Output, error) {
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
	e := ending{pipes: pipes}
	e.prepare(cmd, c, &stdout, &stderr, cancel)
	stop := stopGroup(cmd, pipes)
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
	e.stopped, e.whole, e.cause = stop.fired.Load(), stdout.eof && stderr.eof, ctx.Err()
	return out, e.err(c.Argv[0], out)
}

// limitOf returns deadline, or DefaultDeadline if deadline is 0.
func limitOf(deadline time.Duration) time.Duration {
	if deadline > 0 {
		return deadline
	}
	return DefaultDeadline
}

// statusOf returns the exit code and the signal of a command that has been waited for.
func statusOf(cmd *exec.Cmd) (exit, signal int) {
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		return Status(ws)
	}
	return 0, 0
}

// ending records how a command ended.
type ending struct {
	full    atomic.Bool   // jjm ended the command because its output reached MaxOutput
	bound   error         // why its memory could not be capped; jjm then ended the command
	stopped bool          // jjm ended the command, for any reason
	cause   error         // the error of the command's context
	whole   bool          // both output streams were read to their end
	waited  error         // the error of exec.Cmd.Wait
	pipes   time.Duration // how long the pipes may stay open after the end
}

// prepare sets up a command whose output is stored in stdout and stderr. cancel must end the command; with c.EndAtMax,
// cancel is called when the output reaches MaxOutput.
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

// err returns the error of Run for a command that ended in this way: nil if the command ended by itself, or if jjm
// ended it at MaxOutput; otherwise an error of kind Ambiguous.
func (e *ending) err(name string, out Output) error {
	switch exit := (*exec.ExitError)(nil); {
	case e.bound != nil:
		return jjm.Errorf(jjm.Ambiguous, "run %s: stopped: %w", name, e.bound)
	case e.full.Load():
		return nil
	case e.stopped:
		return jjm.Errorf(jjm.Ambiguous, "run %s: stopped after %s: %w%s",
			name, jjm.HowLong(out.Wall), jjm.Plainly(e.cause), hint(out.Stderr))
	case !e.whole:
		// os/exec reports open pipes only for a command that exited with 0.
		return jjm.Errorf(jjm.Ambiguous,
			"run %s: ended with exit %d, but something it started kept its output open for %s more: %w",
			name, out.Exit, jjm.HowLong(e.pipes), exec.ErrWaitDelay)
	case e.waited != nil && !errors.As(e.waited, &exit):
		return jjm.Errorf(jjm.Ambiguous, "run %s: %w", name, e.waited)
	}
	return nil
}

// maxOutput returns the number of bytes of each output stream to keep.
func maxOutput(c Cmd) int64 {
	if c.MaxOutput > 0 {
		return c.MaxOutput
	}
	return DefaultMaxOutput
}

// Status splits a wait status in the same way as a shell. exit is the exit code, or 128+n after signal n; signal is n,
// or 0.
func Status(ws syscall.WaitStatus) (exit, signal int) {
	if ws.Signaled() {
		return 128 + int(ws.Signal()), int(ws.Signal())
	}
	return ws.ExitStatus(), 0
}

// stopper stops the process group of a command: it sends SIGTERM and, after the grace time, SIGKILL.
type stopper struct {
	fired atomic.Bool
	group int // the number of the group, negative, as an argument of kill(2)
	kill  *time.Timer
}

// stopGroup changes cmd so that the end of cmd's context stops the whole process group. SIGKILL is sent before os/exec
// stops waiting for the pipes, if pipes is longer than grace; a group that ignores SIGTERM is dead by then.
func stopGroup(cmd *exec.Cmd, pipes time.Duration) *stopper {
	s := &stopper{}
	cmd.WaitDelay = pipes
	cmd.Cancel = func() error {
		s.fired.Store(true)
		s.group = -cmd.Process.Pid
		s.kill = time.AfterFunc(grace, func() { _ = syscall.Kill(s.group, syscall.SIGKILL) })
		return syscall.Kill(s.group, syscall.SIGTERM)
	}
	return s
}

// end kills the remaining processes of a stopped group immediately, without waiting for the timer. The caller must have
// waited for the command. As long as a process of the group lives, the kernel does not reuse the group's number.
func (s *stopper) end() {
	if s.fired.Load() && s.kill.Stop() {
		_ = syscall.Kill(s.group, syscall.SIGKILL)
	}
}

// hint returns the first line of standard error in parentheses, for an error text.
func hint(stderr []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(stderr[:min(len(stderr), 400)])), "\n")
	if line == "" {
		return ""
	}
	return " (" + line + ")"
}

// boundMemory caps the private memory of a process that has just started. Memory that the process already allocated is
// kept. boundMemory does nothing if the process has already ended (ESRCH), or became another account by its file's
// setuid bit (EPERM).
func boundMemory(pid int, max int64) error {
	if max <= 0 {
		return nil
	}
	err := unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(max), Max: uint64(max)}, nil)
	if err == nil || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return fmt.Errorf("cap its memory at %d bytes (prlimit(2), RLIMIT_DATA): %w", max, err)
}

// capped keeps the first left bytes of a stream and drops the rest. If full is set, capped calls it once at the cap and
// stops reading. capped is an io.ReaderFrom, which os/exec prefers to an io.Writer, because only ReadFrom can detect
// the end of the stream.
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

// ReadFrom reads r to its end, or to the cap if full is set.
func (w *capped) ReadFrom(r io.Reader) (n int64, err error) {
	chunk := make([]byte, 32<<10)
	for {
		got, err := r.Read(chunk)
		n += int64(got)
		_, _ = w.Write(chunk[:got])
		if w.cut && w.full != nil {
			w.full()
			return n, nil // os/exec closes the pipe: a further write raises SIGPIPE
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
