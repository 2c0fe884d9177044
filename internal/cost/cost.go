// Package cost measures in tests how much processor time a piece of code takes. It uses the
// processor time of the thread that ran the code (clock_gettime(2),
// CLOCK_THREAD_CPUTIME_ID), never the wall clock, so that a busy machine does not change
// the result.
package cost

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tries is how often a piece of code is run. The smallest time counts; caches and the
// garbage collector add to the others.
const tries = 3

// CPU returns the processor time that do takes on its own thread. Work in goroutines that
// do starts is not counted.
func CPU(t testing.TB, do func()) time.Duration {
	t.Helper()
	least := time.Duration(1<<63 - 1)
	for range tries {
		runtime.LockOSThread()
		before := used(t)
		do()
		took := used(t) - before
		runtime.UnlockOSThread()
		least = min(least, took)
	}
	return least
}

func used(t testing.TB) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatalf("clock_gettime: %v", err)
	}
	return time.Duration(now.Nano())
}

// Linear fails the test unless work ten times as large takes about ten times as long. The
// limit of thirty leaves room for caches but none for quadratic cost. The small work must
// take some tenths of a millisecond, or the cost of measuring dominates.
func Linear(t testing.TB, small, large func()) {
	t.Helper()
	one, ten := CPU(t, small), CPU(t, large)
	t.Logf("the small work takes %v, ten times as much %v", one, ten)
	if one < 200*time.Microsecond {
		t.Fatalf("the small work takes %v of processor time: too little to compare with", one)
	}
	if ten > 30*one {
		t.Errorf("the small work takes %v of processor time, ten times as much takes %v", one, ten)
	}
}
