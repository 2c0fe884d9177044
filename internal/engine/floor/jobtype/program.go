package jobtype

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// programsAtOnce is how many programs of job types run at the same time for one account.
const programsAtOnce = 2

// run runs a type's program as the owner, or as the daemon's account if that account runs all
// jobs. If programsAtOnce programs of the account run already, it waits for one of them to end.
// After p.Limit it returns an error of kind Busy.
func (jt *Types) run(owner jjm.Owner, p handlers.Program) (handlers.Ran, error) {
	seats := jt.seats(owner.UID)
	select {
	case seats <- struct{}{}:
		defer func() { <-seats }()
	case <-time.After(p.Limit):
		return handlers.Ran{}, jjm.Errorf(jjm.Busy, "%d programs of job types run for %s already: try again", programsAtOnce,
			owner.User)
	}
	return RunProgram(jt.areas.As(context.Background(), owner), p)
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

// RunProgram runs a type's program in the folder that holds it, without the environment and the
// open files of the daemon. The error is of kind Busy if it does not end within p.Limit.
func RunProgram(ctx context.Context, p handlers.Program) (handlers.Ran, error) {
	out, err := run.Run(ctx, run.Cmd{Argv: []string{p.Path}, Dir: filepath.Dir(p.Path), Stdin: p.Stdin,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent"}, Home: "/nonexistent",
		Deadline: p.Limit, MaxOutput: p.MaxOutput, EndAtMax: true})
	if errors.Is(err, context.DeadlineExceeded) {
		err = jjm.Errorf(jjm.Busy, "it did not end within %s", jjm.HowLong(p.Limit))
	}
	return handlers.Ran{Stdout: out.Stdout, Stderr: out.Stderr, Exit: out.Exit, Truncated: out.Truncated}, err
}
