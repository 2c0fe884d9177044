package needs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// record is a testing.TB that stores how it was ended, and with which message.
type record struct {
	testing.TB
	said string
}

func (*record) Helper() {}

func (r *record) note(how, format string, args []any) {
	r.said += how + ": " + fmt.Sprintf(format, args...) + "\n"
}
func (r *record) Skipf(format string, args ...any)  { r.note("skip", format, args) }
func (r *record) Fatalf(format string, args ...any) { r.note("fatal", format, args) }
func (r *record) Errorf(format string, args ...any) { r.note("error", format, args) }
func (r *record) Logf(format string, args ...any)   { r.note("log", format, args) }

func TestMissing_IsSkippedLoudlyAndFailsInCI(t *testing.T) {
	for _, c := range []struct {
		ci   string
		do   func(t testing.TB)
		want string
	}{
		{"", func(t testing.TB) {
			Missing(t, "a moon", "wait for the night")
		}, "skip: NOT TESTED: this needs a moon: wait for the night\n"},
		{"false", func(t testing.TB) { Missing(t, "a moon", "wait") }, "skip: NOT TESTED: this needs a moon: wait\n"},
		{"true", func(t testing.TB) {
			Missing(t, "a moon", "wait")
		}, "fatal: NOT TESTED, and CI=true allows no gaps: this needs a moon: wait\n"},
		{"", func(t testing.TB) { Gap(t, "a moon", "wait") }, "log: NOT TESTED: part of this needs a moon: wait\n"},
		{"true", func(t testing.TB) {
			Gap(t, "a moon", "wait")
		}, "error: NOT TESTED, and CI=true allows no gaps: part of this needs a moon: wait\n"},
	} {
		t.Setenv("CI", c.ci)
		r := &record{}
		if c.do(r); r.said != c.want {
			t.Errorf("CI=%q: %q, want %q", c.ci, r.said, c.want)
		}
	}
}

func TestProgram_ReturnsThePathOrNamesThePackage(t *testing.T) {
	t.Setenv("CI", "true")
	none, some := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{filepath.Join(none, "moon"): 0o644,
		filepath.Join(some, "moon"): 0o755} {
		if err := os.WriteFile(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(none, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", none+":"+some)
	r := &record{}
	if got := Program(r, "moon", "sky"); got != filepath.Join(some, "moon") || r.said != "" {
		t.Errorf("%q, said %q", got, r.said)
	}
	if got := Program(r, "folder", "sky"); got != "" || !strings.Contains(r.said, "fatal: ") ||
		!strings.Contains(r.said, "apt-get install sky") {
		t.Errorf("%q, said %q", got, r.said)
	}
}

func TestTmpfs_HasTheSizeOfItsOptions(t *testing.T) {
	dir := t.TempDir()
	t.Run("mounted", func(t *testing.T) {
		Tmpfs(t, dir, "size=64k")
		err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, 1<<20), 0o600)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("write 1 MiB: %v", err)
		}
	})
	if _, err := os.Stat(filepath.Join(dir, "big")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still mounted: %v", err)
	}
}
