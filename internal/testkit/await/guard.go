package await

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"
)

// Slowness names the environment variable with the factor by which this machine starts processes slower than an idle
// machine. `make test` sets the variable from a measurement.
const Slowness = "JJM_SLOWNESS"

// leastGuard is the shortest guard, because a shorter guard would sometimes end a wait too early on a busy machine.
// mostSlowness limits the factor, so that a wrong measurement does not turn minutes into days.
const (
	leastGuard   = time.Minute
	mostSlowness = 20
)

// Guard returns how long a wait may take before the wait counts as a hang: d times the slowness of the machine. It
// panics if d is less than a minute. For a deadline that a test provokes, see Provoked.
func Guard(d time.Duration) time.Duration {
	if d < leastGuard {
		panic(fmt.Sprintf("await: a guard of %v is a time limit: the least is %v", d, leastGuard))
	}
	return Provoked(d)
}

// Provoked returns the deadline of a call that the test deliberately hangs: d times the slowness of the machine,
// rounded up to a whole number. It must be long enough for the call to reach the point at which it hangs.
func Provoked(d time.Duration) time.Duration {
	return d * time.Duration(math.Ceil(slowness(os.Getenv(Slowness))))
}

// slowness parses text as a factor and limits the factor to 1..mostSlowness. It returns 1 if text is not a number.
func slowness(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) {
		return 1
	}
	return min(max(x, 1), mostSlowness)
}

// Context returns a context that ends with the test, or after Guard(d).
func Context(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Guard(d))
	t.Cleanup(cancel)
	return ctx
}

// Closed waits until a channel is closed or delivers a value. If neither happens, the test ends with an error that
// describes the awaited event.
func Closed[T any](t testing.TB, what string, ch <-chan T) {
	t.Helper()
	receive(t, Guard(patience), what, ch)
}

// Receive waits for a value from a channel and returns the value. If no value comes, or the channel is closed, the test
// ends with an error that describes the awaited value.
func Receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	v, open := receive(t, Guard(patience), what, ch)
	if !open {
		t.Fatalf("%s: the channel is closed and empty", what)
	}
	return v
}

// receive receives a value from a channel; open is false if the channel is closed. If no value comes within limit, the
// test ends, and open is true so that no second error follows.
func receive[T any](t testing.TB, limit time.Duration, what string, ch <-chan T) (v T, open bool) {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case v, open = <-ch:
		return v, open
	case <-timer.C:
		t.Fatalf("waited %v, %s: %s", limit, Hung, what)
		return v, true
	}
}
