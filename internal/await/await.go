// Package await waits in tests for what is meant: no test sleeps for a fixed time, or
// asserts how long something took. A busy machine makes it later, not wrong.
package await

import (
	"errors"
	"testing"
	"time"
)

// patience is a guard against what never happens, longer than anything takes on a
// machine that is busy with other things; every is how often it is looked.
const (
	patience = 4 * time.Minute
	every    = 5 * time.Millisecond
)

// True waits until ok holds. If it never does the test ends, saying what was awaited.
func True(t testing.TB, what string, ok func() bool) {
	t.Helper()
	Nil(t, what, func() error {
		if ok() {
			return nil
		}
		return errNotYet
	})
}

var errNotYet = errors.New("not so far")

// Nil waits until try has no error. If that never is the test ends with the last one.
func Nil(t testing.TB, what string, try func() error) {
	t.Helper()
	wait(t, patience, what, try)
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
