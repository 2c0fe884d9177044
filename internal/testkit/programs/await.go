package programs

import (
	"testing"
	"time"

	"jjm/internal/testkit/await"
)

// Await calls ok until it returns true, and ends the test if this takes longer than patience. Between two calls, Await
// pauses for the given interval, or for the time that [await.Rest] returns if that is longer.
func Await(t testing.TB, patience, every time.Duration, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		asked := time.Now()
		if ok() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v, %s: %s", patience, await.Hung, what)
		}
		time.Sleep(await.Rest(every, time.Since(asked)))
	}
}

// AwaitNone waits until left returns 0. It ends the test if the number has not decreased during the time patience, so
// that a slow test that makes progress is not ended on a busy machine.
func AwaitNone(t testing.TB, patience, every time.Duration, what string, left func() int) {
	t.Helper()
	least, since := left(), time.Now()
	for least > 0 {
		asked := time.Now()
		n := left()
		if n < least {
			least, since = n, asked
		}
		if asked.Sub(since) > patience { // provoked: only a hang lasts longer than the caller's await.Guard
			t.Fatalf("waited %v, %s: %s, of which %d are left", patience, await.Hung, what, n)
		}
		time.Sleep(await.Rest(every, time.Since(asked)))
	}
}
