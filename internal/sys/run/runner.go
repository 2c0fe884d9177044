package run

import (
	"context"
	"errors"
	"os"
)

// Runner runs commands instead of this process, for example as another account.
type Runner interface {
	// Run runs a command like [Run], with the same promises and kinds of errors.
	Run(ctx context.Context, c Cmd) (Output, error)
	// UID returns the user id of the account as which the commands run.
	UID() int
}

type runnerKey struct{}

// WithRunner returns a context under which [Run] passes every command to r; nil undoes an outer WithRunner. With it the
// daemon runs the commands of an adapter or a site's hook as another account, although adapters and hooks do not know
// about accounts.
func WithRunner(ctx context.Context, r Runner) context.Context {
	return context.WithValue(ctx, runnerKey{}, r)
}

// UID returns the user id of the account as which commands run under ctx: the Runner's, or this process's effective
// user id.
func UID(ctx context.Context) int {
	if r := runnerOf(ctx); r != nil {
		return r.UID()
	}
	return os.Geteuid()
}

func runnerOf(ctx context.Context) Runner {
	r, _ := ctx.Value(runnerKey{}).(Runner)
	return r
}

// RunnerError is an error of a Runner itself, such as a missing account or a helper that does not answer. It is no
// error of the command.
type RunnerError struct{ Err error }

func (e *RunnerError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RunnerError) Unwrap() error { return e.Err }

// IsRunnerError reports whether err is or wraps a RunnerError.
func IsRunnerError(err error) bool {
	var own *RunnerError
	return errors.As(err, &own)
}
