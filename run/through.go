package run

import (
	"context"
	"errors"
	"os"
)

// Runner runs commands in the place of this process: as another account.
type Runner interface {
	// Run is [Run], with its promises and its kinds of errors.
	Run(ctx context.Context, c Cmd) (Output, error)
	// UID is the account that the commands run as.
	UID() int
}

type throughKey struct{}

// Through returns a context under which [Run] leaves every command to r. Who holds
// a layer that knows nothing of accounts - an adapter, a site's hook - to run
// commands as somebody need tell nobody else. A nil r takes it back.
func Through(ctx context.Context, r Runner) context.Context {
	return context.WithValue(ctx, throughKey{}, r)
}

// UID is the account that commands run as under ctx: the Runner's, else this
// process's.
func UID(ctx context.Context) int {
	if r := runnerOf(ctx); r != nil {
		return r.UID()
	}
	return os.Geteuid()
}

func runnerOf(ctx context.Context) Runner {
	r, _ := ctx.Value(throughKey{}).(Runner)
	return r
}

// RunnersError is trouble of a Runner itself: its account is not there, or what
// it works through gives no answer. It says nothing about the command.
type RunnersError struct{ Err error }

func (e *RunnersError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RunnersError) Unwrap() error { return e.Err }

// IsRunners reports whether an error is a Runner's own.
func IsRunners(err error) bool {
	var own *RunnersError
	return errors.As(err, &own)
}
