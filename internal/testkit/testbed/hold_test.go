package testbed_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"jjm/internal/testkit/testbed"
)

// flock reports whether another program can lock the bed in dir now. It runs flock(1), as the scripts of
// scripts/testbed do: with how "-n" it tries an exclusive lock, with "-ns" a shared lock.
func flock(t *testing.T, dir, how string) bool {
	t.Helper()
	return exec.Command("flock", how, filepath.Join(dir, "jjm-testbed-nosuch.lock"), "true").Run() == nil
}

func TestHold_KeepsScriptsAndOtherUsersOffABed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("JJM_TESTBED", dir)
	first, err := testbed.Enter("nosuch", false)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Alone || len(first.Env()) != 1 || flock(t, dir, "-ns") {
		t.Errorf("who finds nobody there is not alone: %+v, for scripts %v", first, first.Env())
	}
	entered := func(alone bool) chan *testbed.Hold {
		in := make(chan *testbed.Hold, 1)
		go func() {
			h, err := testbed.Enter("nosuch", alone)
			if err != nil {
				t.Error(err)
			}
			in <- h
		}()
		return in
	}
	second := entered(false)
	select {
	case <-second:
		t.Error("a second user came in beside one who is alone")
	case <-time.After(50 * time.Millisecond): // pause: to come in although it must not
	}
	if err := first.Share(); err != nil {
		t.Fatal(err)
	}
	other := <-second
	if first.Alone || other.Alone || other.Env() != nil || flock(t, dir, "-n") || !flock(t, dir, "-ns") {
		t.Errorf("two who share: %+v, %+v", first, other)
	}
	third := entered(true)
	if err := first.Leave(); err != nil {
		t.Error(err)
	}
	select {
	case <-third:
		t.Error("one who wants to be alone came in beside another")
	case <-time.After(50 * time.Millisecond): // pause: to come in although it must not
	}
	if err := other.Leave(); err != nil {
		t.Error(err)
	}
	if h := <-third; !h.Alone || flock(t, dir, "-ns") {
		t.Errorf("who waited for that is not alone: %+v", h)
	} else if err := h.Leave(); err != nil || !flock(t, dir, "-n") {
		t.Errorf("nobody is there, and the bed is not free: %v", err)
	}
}
