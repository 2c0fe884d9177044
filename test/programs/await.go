package programs

import (
	"testing"
	"time"
)

// longestRest is the longest wait of Await between two calls.
const longestRest = 2 * time.Second

// Await calls ok until it returns true, and ends the test if that takes too long. Between two calls it waits at least
// every, and five times as long as the call took: many tests wait at once, and those that ask a batch system by a
// command would leave it no CPU for what they wait for.
func Await(t testing.TB, patience, every time.Duration, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		asked := time.Now()
		if ok() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
		time.Sleep(rest(every, time.Since(asked)))
	}
}

// AwaitNone waits until left returns 0, and ends the test if it has not become less for so long: however busy the
// machine is, what goes on is waited for.
func AwaitNone(t testing.TB, patience, every time.Duration, what string, left func() int) {
	t.Helper()
	least, since := left(), time.Now()
	for least > 0 {
		asked := time.Now()
		n := left()
		if n < least {
			least, since = n, asked
		}
		if asked.Sub(since) > patience {
			t.Fatalf("waited %v in vain: %s, of which %d are left", patience, what, n)
		}
		time.Sleep(rest(every, time.Since(asked)))
	}
}

// rest returns the wait after a call that took some time.
func rest(every, took time.Duration) time.Duration {
	return max(every, min(5*took, longestRest))
}
