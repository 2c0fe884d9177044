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

// A hold is the right to use a test bed (see testbed.Hold). The test follows three users: the first is alone until
// Share, the second must wait for that, and the third wants to be alone and must wait until the other two have left.
// Meanwhile the scripts of scripts/testbed can lock the bed only when the users allow it.
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
	// entered starts a further user, and returns a channel that receives the hold when the user is in.
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
	case <-time.After(50 * time.Millisecond): // pause: enough time to come in, which the user must not do
	}
	// The first user shares the bed, so the second user comes in. Scripts can then take a shared lock only.
	if err := first.Share(); err != nil {
		t.Fatal(err)
	}
	other := <-second
	if first.Alone || other.Alone || other.Env() != nil || flock(t, dir, "-n") || !flock(t, dir, "-ns") {
		t.Errorf("two who share: %+v, %+v", first, other)
	}
	// The third user wants to be alone, and comes in when the second user leaves too.
	third := entered(true)
	if err := first.Leave(); err != nil {
		t.Error(err)
	}
	select {
	case <-third:
		t.Error("one who wants to be alone came in beside another")
	case <-time.After(50 * time.Millisecond): // pause: enough time to come in, which the user must not do
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
