// Package await makes tests wait for a condition instead of a fixed time, so that they
// neither sleep nor assert how long something took. On a busy machine a test then takes
// longer, but it does not fail.
package await

import (
	"errors"
	"testing"
	"time"
)

// patience is the guard of a wait for a condition that never becomes true. Nothing takes that
// long, even on a busy machine. every is the shortest pause between two checks.
const (
	patience = 4 * time.Minute
	every    = 5 * time.Millisecond
)

// longestRest is the longest pause between two checks.
const longestRest = 2 * time.Second

// Rest returns the pause after a check that took some time: five times as long, and at least
// least. Many tests wait at the same time, and checks that start a command would leave no CPU
// for what the tests wait for.
func Rest(least, took time.Duration) time.Duration {
	return max(least, min(5*took, longestRest))
}

// True waits until ok returns true. If it never does, the test ends with an error that
// names what.
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

// Nil waits until try returns nil. If it never does, the test ends with the last error.
func Nil(t testing.TB, what string, try func() error) {
	t.Helper()
	wait(t, Guard(patience), what, try)
}

func wait(t testing.TB, most time.Duration, what string, try func() error) {
	t.Helper()
	for end := time.Now().Add(most); ; {
		began := time.Now()
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v, %s: %s: %v", most, Hung, what, err)
			return
		}
		time.Sleep(Rest(every, time.Since(began)))
	}
}

// Hung is part of what a test prints whose hang guard ended it.
const Hung = "beyond its hang guard"
