package app

import (
	"path/filepath"
	"testing"
)

// An account fills the disk again after the daemon checked it and before the daemon opens the store. The daemon
// nevertheless starts: it gives up its reserve and then opens the store.
func TestStore_IsOpenedThoughTheDiskWasFilledMeanwhile(t *testing.T) {
	r := keeper(t)
	a := r.app
	a.reserve = r
	fill(t, filepath.Join(a.config.State, "others"))
	if err := a.openStore(t.Context()); err != nil {
		t.Fatalf("the start ends: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
