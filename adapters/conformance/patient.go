package conformance

import (
	"context"
	"slices"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// patient is an adapter that repeats the calls that the adapter below it did not send because its batch system was too
// busy (see [adapters.NotAsked]). The daemon repeats such a call in its next cycle; a check has no next cycle.
type patient struct {
	adapters.Adapter
	limit time.Duration // the time for which a call is repeated
}

// refusedPause is the pause before a call is repeated.
const refusedPause = 2 * time.Second // pause: then the limits on commands (package idealize) may permit the call

// patiently repeats a call as long as again returns true for its error. It stops when ctx ends or p.limit is over, and
// returns the last result.
func patiently[T any](ctx context.Context, p patient, again func(error) bool, call func() (T, error)) (T, error) {
	for end := time.Now().Add(p.limit); ; {
		out, err := call()
		if !again(err) || ctx.Err() != nil || time.Now().After(end) {
			return out, err
		}
		select {
		case <-time.After(refusedPause):
		case <-ctx.Done():
		}
	}
}

// Submit repeats submissions that the adapter did not send. It repeats a submission only if the error also proves that
// no command was started, because otherwise jobs could run twice. Calls that are no submissions may always be repeated.
func (p patient) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	unsent := func(err error) bool { return adapters.IsNotAsked(err) && adapters.IsNotStarted(err) }
	return patiently(ctx, p, unsent, func() (adapters.Receipt, error) { return p.Adapter.Submit(ctx, b) })
}

func (p patient) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	return patiently(ctx, p, adapters.IsNotAsked, func() (adapters.Listing, error) {
		return p.Adapter.List(ctx, owner, since)
	})
}

func (p patient) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	return patiently(ctx, p, adapters.IsNotAsked, func() ([]adapters.Found, error) {
		return p.Adapter.Find(ctx, owner, tags)
	})
}

func (p patient) Account(ctx context.Context, owner jjm.Owner, refs []adapters.Ref) ([]jjm.Report, error) {
	return patiently(ctx, p, adapters.IsNotAsked, func() ([]jjm.Report, error) {
		return p.Adapter.Account(ctx, owner, refs)
	})
}

// Control also repeats calls if the adapter did not send the commands for some of the jobs.
func (p patient) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, refs []adapters.Ref) ([]error, error) {
	var answers []error
	unsent := func(err error) bool {
		return adapters.IsNotAsked(err) || slices.ContainsFunc(answers, adapters.IsNotAsked)
	}
	return patiently(ctx, p, unsent, func() (_ []error, err error) {
		answers, err = p.Adapter.Control(ctx, owner, op, refs)
		return answers, err
	})
}
