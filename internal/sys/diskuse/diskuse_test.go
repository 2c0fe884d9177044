package diskuse

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestCount_CountsUpToItsLimits(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			if err := os.WriteFile(filepath.Join(dir, sub, fmt.Sprint(i)), make([]byte, 4096), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Truncate(filepath.Join(dir, "c/0"), 1<<40); err != nil { // one long hole, which takes no space
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	all, err := Count(root, ".", Most{})
	if err != nil || all.Partial || all.Files != 204 || all.Bytes < 200*4096 || all.Bytes > 100<<20 {
		t.Errorf("%+v, %v: want 204 files of some 800 KiB", all, err)
	}
	if sub, err := Count(root, "a/b", Most{}); err != nil || sub.Files != 100 {
		t.Errorf("a/b: %+v, %v: want 100 files", sub, err)
	}
	for what, most := range map[string]Most{"files": {Files: 150}, "bytes": {Bytes: 500_000}} {
		if got, err := Count(root, ".", most); err != nil || !got.Partial || got.Files > 204 {
			t.Errorf("%s: %+v, %v: want a part", what, got, err)
		}
	}
}
