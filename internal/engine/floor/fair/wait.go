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
