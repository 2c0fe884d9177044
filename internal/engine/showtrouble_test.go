package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// If a step of a grid job fails, users see the reason in the status, not only in the log.
func TestTrouble_OfAStepIsVisible(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		jobs := filepath.Join(w.area(owner(alice)).Root(), "jobs")
		if err := os.WriteFile(jobs, nil, 0o600); err != nil { // a file where the folder should be
			t.Fatal(err)
		}
		id := w.submit(alice, mc(2))
		w.pass(30 * time.Second)
		if l := w.lookup(id); l.Status != "registered" || !strings.Contains(l.Message, "trying again: ") {
			t.Errorf("%s: %q: want the trouble in the message", l.Status, l.Message)
		}
		if err := os.Remove(jobs); err != nil {
			t.Fatal(err)
		}
		w.running(id, 2)
		if l := w.lookup(id); strings.Contains(l.Message, "trying again") {
			t.Errorf("%s: %q: want no trouble", l.Status, l.Message)
		}
	})
}
