package run

import (
	"context"
	"errors"
	"os"
)

// Runner runs commands in the place of this process, for example as another account.
type Runner interface {
	// Run does what [Run] does, with the same promises and kinds of errors.
	Run(ctx context.Context, c Cmd) (Output, error)
	// UID returns the number of the account that the commands run as.
	UID() int
}

type runnerKey struct{}

// WithRunner returns a context under which [Run] passes every command to r; nil undoes an outer
// WithRunner. It lets the daemon run the commands of an adapter or a site's hook as somebody
// else, though these know nothing of accounts.
func WithRunner(ctx context.Context, r Runner) context.Context {
	return context.WithValue(ctx, runnerKey{}, r)
}

// UID returns the number of the account that commands run as under ctx: the Runner's, or this
// process's effective one.
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

// RunnerError is an error of a Runner itself, such as a missing account or a helper that does
// not answer. It says nothing about the command.
type RunnerError struct{ Err error }

func (e *RunnerError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RunnerError) Unwrap() error { return e.Err }

// IsRunnerError reports whether err is or wraps a RunnerError.
func IsRunnerError(err error) bool {
	var own *RunnerError
	return errors.As(err, &own)
}
