package fair

import (
	"context"
	"time"
)

// Pause waits for d or the end of ctx.
func Pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Kick wakes the loop that waits on ch, whose capacity must be 1. It never blocks. Several kicks of a busy loop count
// as one.
func Kick(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// WaitKick waits for a kick, for d, or for the end of ctx.
func WaitKick(ctx context.Context, ch <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-ch:
	case <-t.C:
	}
}

const (
	// endAgain is the time after which a failed attempt to end what is over is repeated.
	endAgain = 5 * time.Second
	// mostUntilEnd is the longest time until EndLoop notices that the clock was set.
	mostUntilEnd = time.Minute
)

// EndLoop calls end until ctx ends: when somebody kicks ch, and after the time that end returns. end ends what is over,
// such as orders with a limited time. If end fails, EndLoop passes the error to failed and soon calls end again.
func EndLoop(ctx context.Context, ch <-chan struct{}, end func(context.Context) (time.Duration, error),
	failed func(error)) {
	for ctx.Err() == nil {
		wait, err := end(ctx)
		if err != nil && ctx.Err() == nil {
			failed(err)
			wait = endAgain
		}
		WaitKick(ctx, ch, wait)
	}
}

// UntilEnd returns how long EndLoop waits for an end after the time left, if it would otherwise wait for next.
func UntilEnd(next, left time.Duration) time.Duration {
	return min(next, max(left, time.Millisecond), mostUntilEnd)
}
