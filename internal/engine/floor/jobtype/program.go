package jobtype

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// programsAtOnce is the number of programs of job types that may run at the same time for one account.
const programsAtOnce = 2

// run runs a type's program as the owner, or as the daemon's account if that account runs all jobs. If programsAtOnce
// programs of the account run already, it waits for one of them to end. The error is of kind Busy if this wait, or the
// run of the program, takes longer than p.Limit, and of kind Denied if others can change the program.
func (jt *Types) run(owner jjm.Owner, p handlers.Program) (handlers.Ran, error) {
	if held := jt.b.Deps.Held; held != nil { // the rights may have changed since the daemon read the type
		if err := held(p.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return handlers.Ran{}, jjm.Errorf(jjm.Denied, "it is not run: %w", err)
		}
	}
	leave, err := jt.enter(owner, p.Limit)
	if err != nil {
		return handlers.Ran{}, err
	}
	defer leave()
	return RunProgram(jt.areas.As(context.Background(), owner), p)
}

// enter waits for a place among the programs of an account, at most for limit; then the error is of kind Busy. The
// caller must call leave once its program has ended.
func (jt *Types) enter(owner jjm.Owner, limit time.Duration) (leave func(), err error) {
	seats := jt.seats(owner.UID)
	select {
	case seats <- struct{}{}:
		return func() { <-seats }, nil
	case <-time.After(limit):
		return nil, jjm.Errorf(jjm.Busy, "%d programs of job types run for %s already: try again", programsAtOnce, owner.User)
	}
}

// seats returns the channel that counts the programs of an account.
func (jt *Types) seats(uid int) chan struct{} {
	jt.mu.Lock()
	defer jt.mu.Unlock()
	if jt.running[uid] == nil {
		jt.running[uid] = make(chan struct{}, programsAtOnce)
	}
	return jt.running[uid]
}

// RunProgram runs a type's program in the folder that holds it, without the environment and the open files of the
// daemon. The error is of kind Busy if the program does not end within p.Limit, or if the machine cannot start it now,
// and of kind Invalid if the program's file cannot be executed.
func RunProgram(ctx context.Context, p handlers.Program) (handlers.Ran, error) {
	out, err := run.Run(ctx, run.Cmd{Argv: []string{p.Path}, Dir: filepath.Dir(p.Path), Stdin: p.Stdin,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent"}, Home: "/nonexistent",
		Deadline: p.Limit, MaxOutput: p.MaxOutput, EndAtMax: true})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = jjm.Errorf(jjm.Busy, "it did not end within %s", jjm.HowLong(p.Limit))
	case cannotStart(err):
		err = jjm.Errorf(jjm.Invalid, "%w", err)
	}
	return handlers.Ran{Stdout: out.Stdout, Stderr: out.Stderr, Exit: out.Exit, Truncated: out.Truncated}, err
}

// cannotStart reports whether err means that the program's file cannot be executed, so that a retry cannot help.
func cannotStart(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOENT, syscall.EACCES, syscall.EPERM, syscall.ENOEXEC, syscall.ENOTDIR,
		syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG}, func(errno error) bool { return errors.Is(err, errno) })
}
