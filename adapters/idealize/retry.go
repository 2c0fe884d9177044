package idealize

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// The pause before the n-th repetition, counted from 0, is firstPause doubled n times, at most lastPause. A random part
// of up to a half is subtracted, so that the clusters of one site do not retry at the same time.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 2 * time.Second
)

// withRetry repeats calls that certainly did nothing or may be done twice. It stops repeating a call after the time
// within and returns the last error. For a submission it returns instead the last error after which a command may have
// run, because the caller must know about that command.
func withRetry(within time.Duration, next call) call {
	return func(ctx context.Context, verb Verb, do func(context.Context) error) error {
		began := time.Now()
		var started error
		for n := 0; ; n++ {
			err := next(ctx, verb, do)
			d := backoff(n)
			if again(verb, err) && time.Since(began)+d <= within && sleep(ctx, d) {
				if verb == Submit && !adapters.IsNotStarted(err) {
					started = err
				}
				continue
			}
			if started != nil && adapters.IsNotStarted(err) {
				return started
			}
			return err
		}
	}
}

// again reports whether to repeat a call that ended with err: a submission only if it certainly did nothing, another
// verb even if it may have happened. A call that an open breaker refused is repeated only if a probe is running. A call
// whose error is marked by adapters.Later or adapters.TooMany is not repeated.
func again(verb Verb, err error) bool {
	if o := (*openError)(nil); errors.As(err, &o) {
		return o.probing
	}
	if adapters.IsLater(err) || adapters.IsTooMany(err) {
		return false
	}
	switch jjm.KindOf(err) {
	case jjm.Busy:
		return true
	case jjm.Ambiguous:
		return verb != Submit
	}
	return false
}

// backoff returns the pause before the n-th repetition, counted from 0.
func backoff(n int) time.Duration {
	d := min(firstPause<<min(n, 10), lastPause)
	return d/2 + rand.N(d/2)
}

// sleep waits for d and returns true. It returns false if ctx ended, or immediately if ctx would end before d is over.
func sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
