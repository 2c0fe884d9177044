// Package await makes tests wait for a condition instead of a fixed time, so that they
// neither sleep nor assert how long something took. On a busy machine a test then takes
// longer, but it does not fail.
package await

import (
	"errors"
	"testing"
	"time"
)

// patience is how long a wait lasts at most. It only ends waits for a condition that never becomes true: no other
// condition takes so long, even on a busy machine. every is the shortest pause between two checks.
const (
	patience = 4 * time.Minute
	every    = 5 * time.Millisecond
)

// longestRest is the longest pause between two checks.
const longestRest = 2 * time.Second

// Rest returns the pause after a check: five times the duration of the check, but at least the given minimum and at
// most longestRest. Many tests wait at the same time. Without long pauses, checks that start a command would leave no
// CPU for the work for which the tests wait.
func Rest(least, took time.Duration) time.Duration {
	return max(least, min(5*took, longestRest))
}

// True waits until ok returns true. If ok does not return true in time, the test ends with an error that describes the
// condition.
func True(t testing.TB, what string, ok func() bool) {
	t.Helper()
	Nil(t, what, func() error {
		if ok() {
			return nil
		}
		return errNotYet
	})
}

var errNotYet = errors.New("not yet")

// Nil waits until try returns nil. If try does not return nil in time, the test ends with the last error.
func Nil(t testing.TB, what string, try func() error) {
	t.Helper()
	wait(t, Guard(patience), what, try)
}

// wait calls try until it returns nil. If try still fails after limit, the test ends.
func wait(t testing.TB, limit time.Duration, what string, try func() error) {
	t.Helper()
	for end := time.Now().Add(limit); ; {
		began := time.Now()
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v, %s: %s: %v", limit, Hung, what, err)
			return
		}
		time.Sleep(Rest(every, time.Since(began)))
	}
}

// Hung is part of the message of a test that its hang guard ended.
const Hung = "beyond its hang guard"
