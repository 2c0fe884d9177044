package run

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"jjm"
)

// Files is a command whose streams are files of the caller's, who reads and
// bounds what it writes.
type Files struct {
	Argv  []string
	Dir   string
	Env   []string
	Std   [3]*os.File
	Limit time.Duration // of the run; 0 means DefaultDeadline
	// MaxMemory caps the private memory, in bytes, as that of a Cmd does.
	MaxMemory int64
}

// RunFiles runs a command to its end as Run does, but for its streams. started
// is called once the kernel accepted it. It dies with this process, whatever
// ends it. Its errors are Run's; with Ambiguous out holds what is known.
func RunFiles(ctx context.Context, f Files, started func()) (out Output, err error) {
	if len(f.Argv) == 0 || f.Argv[0] == "" {
		return Output{}, jjm.Errorf(jjm.Invalid, "run: empty command")
	}
	ctx, cancel := context.WithTimeout(ctx, limitOf(f.Limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, f.Argv[0], f.Argv[1:]...)
	cmd.Dir, cmd.Env = f.Dir, append([]string{}, f.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f.Std[0], f.Std[1], f.Std[2]
	// The signal comes at the end of the thread that started it (prctl(2)): so
	// that thread stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stop := stopGroup(cmd)
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
	if stop.began.Load() {
		return out, jjm.Errorf(jjm.Ambiguous, "run %s: stopped after %v: %w", f.Argv[0], out.Wall.Round(time.Millisecond),
			ctx.Err())
	}
	return out, nil
}
