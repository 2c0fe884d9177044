package app

import (
	"path/filepath"
	"testing"
)

// An account that fills the disk once more, after the daemon looked at it and before it opens the store, does not
// prevent the start: the daemon gives up its reserve and opens the store then.
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
