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
// long, even on a busy machine. every is the pause between two checks.
const (
	patience = 4 * time.Minute
	every    = 5 * time.Millisecond
)

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
	for end := time.Now().Add(most); ; time.Sleep(every) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s: %v", most, what, err)
			return
		}
	}
}
