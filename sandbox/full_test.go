package sandbox

import (
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"jjm/internal/testkit/needs"
)

// smallArea returns an area on a file system of half a megabyte.
func smallArea(t *testing.T) *Area {
	t.Helper()
	dir := needs.Tmpfs(t, t.TempDir(), "size=512k")
	a, err := OpenArea(filepath.Join(dir, "alice"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// limitFileSize limits the files that this process writes to 256 KiB until the test ends (setrlimit(2), RLIMIT_FSIZE):
// a write fails in the middle of a file, as on a full disk.
func limitFileSize(t *testing.T, _ *Area) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 256 << 10, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Error(err)
		}
	})
}
