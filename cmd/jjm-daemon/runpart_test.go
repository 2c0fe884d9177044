package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
)

// Root gets a warning before it runs commands from a file of another account. Other accounts get no warning, and root
// gets none about its own files.
func TestRun_WarnsRootOfFilesOfOthers(t *testing.T) {
	needs.Root(t, "to give a file to another account")
	dir := t.TempDir()
	own, others := filepath.Join(dir, "own.toml"), filepath.Join(dir, "others.toml")
	for _, path := range []string{own, others} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(others, 4711, 4712); err != nil {
		t.Fatal(err)
	}
	got := othersOf(0, own, others, "", filepath.Join(dir, "none"))
	if len(got) != 1 || !strings.Contains(got[0], others+" belongs to uid 4711, and what it says runs as root") ||
		!strings.Contains(got[0], "--reuid 4711 --regid 4712") {
		t.Errorf("%q", got)
	}
	if got := othersOf(4713, own, others); got != nil {
		t.Errorf("an account is warned: %q", got)
	}
}
