package idealize

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"jjm"
)

// The back-off before the n-th repetition: firstPause doubled n times, at most
// lastPause, less up to a half by chance, so that clusters of one site do not
// come back in step.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 2 * time.Second
)

// retried repeats what certainly did nothing, and what may be done twice, for a
// few seconds. It gives the last error.
func retried(within time.Duration, next call) call {
	return func(ctx context.Context, verb Verb, do func(context.Context) error) error {
		began := time.Now()
		for n := 0; ; n++ {
			err := next(ctx, verb, do)
			if !again(verb, err) {
				return err
			}
			d := backoff(n)
			if time.Since(began)+d > within || !sleep(ctx, d) {
				return err
			}
		}
	}
}

// again reports whether to repeat a call that came to err: a submission only
// if it certainly did nothing, the other verbs also if it may have happened. An
// open breaker is not asked twice.
func again(verb Verb, err error) bool {
	if o := (*openError)(nil); errors.As(err, &o) {
		return o.probing
	}
	switch jjm.KindOf(err) {
	case jjm.Busy:
		return true
	case jjm.Ambiguous:
		return verb != Submit
	}
	return false
}

func backoff(n int) time.Duration {
	d := min(firstPause<<min(n, 10), lastPause)
	return d/2 + rand.N(d/2)
}

// sleep waits, and reports whether it was not cut short. It does not begin a
// wait that ctx would cut short.
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
