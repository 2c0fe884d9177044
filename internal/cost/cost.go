// Package cost tells tests what a piece of code costs, in a way that a busy machine
// does not change: by the processor time of the thread that ran it (clock_gettime(2),
// CLOCK_THREAD_CPUTIME_ID), never by the clock on the wall.
package cost

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tries is how often a piece of code runs: the least of several is its cost, the rest
// is what caches and the collector of garbage added.
const tries = 3

// CPU returns the processor time that do takes on its own thread. What do starts in
// other goroutines does not count.
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

// Linear fails unless work ten times as large costs about ten times as much: a bound
// of thirty leaves room for caches, and none for a square. The small work must take
// some tenths of a millisecond, or what it is measured with counts.
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
