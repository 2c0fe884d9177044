package run

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"jjm/internal/jjm"
)

// Files describes a command whose standard streams are files of the caller. The caller must read and bound the output.
type Files struct {
	Argv  []string
	Dir   string
	Env   []string
	Std   [3]*os.File
	Limit time.Duration // longest run time of the command; 0 means DefaultDeadline
	// MaxMemory caps the private memory in bytes; see Cmd.MaxMemory.
	MaxMemory int64
}

// RunFiles runs a command to its end like Run, but returns no output of the command. It calls started when the kernel
// has executed the command. If this process ends for any reason, the command is killed. The errors are the errors of
// Run. If the error is of kind Ambiguous, out holds the known facts.
func RunFiles(ctx context.Context, f Files, started func()) (out Output, err error) {
	if len(f.Argv) == 0 || f.Argv[0] == "" {
		return Output{}, jjm.Errorf(jjm.Invalid, "run: empty command")
	}
	ctx, cancel := context.WithTimeout(ctx, limitOf(f.Limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, f.Argv[0], f.Argv[1:]...)
	cmd.Dir, cmd.Env = f.Dir, append([]string{}, f.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f.Std[0], f.Std[1], f.Std[2]
	// PR_SET_PDEATHSIG signals the child when the thread that started the child ends (prctl(2)), so this thread must not
	// end before the command.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stop := stopGroup(cmd, OpenPipes)
	defer stop.end()
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return Output{}, jjm.Errorf(jjm.Busy, "run %s: not started: %w", f.Argv[0], err)
	}
	bound := boundMemory(cmd.Process.Pid, f.MaxMemory)
	if bound != nil {
		cancel()
	}
	started()
	_ = cmd.Wait()
	out.Wall = time.Since(start)
	out.Exit, out.Signal = statusOf(cmd)
	if bound != nil {
		return out, jjm.Errorf(jjm.Ambiguous, "run %s: stopped: %w", f.Argv[0], bound)
	}
	if stop.fired.Load() {
		return out, jjm.Errorf(jjm.Ambiguous, "run %s: stopped after %s: %w", f.Argv[0], jjm.HowLong(out.Wall),
			jjm.Plainly(ctx.Err()))
	}
	return out, nil
}
