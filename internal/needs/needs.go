// Package needs is the one way in which tests say that this machine lacks
// something they cannot do without: root, a program, a batch system.
//
// It promises that nothing is left out in silence. A test that lacks something
// is skipped with one line that begins with "NOT TESTED" and says what is
// missing and how to get it; where tests must be complete, with CI=true in the
// environment, the same line is a failure. A test of the sources (test/house
// of the root package) keeps other ways to skip out.
//
// It installs and starts nothing. What root alone can give a test is here as
// well: a disk that is soon full, the rights of another account.
package needs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// CI reports whether tests must be complete.
func CI() bool { return os.Getenv("CI") == "true" }

// Missing ends a test for want of something. How says in the imperative what to
// do about it.
func Missing(t testing.TB, what, how string) {
	t.Helper()
	if CI() {
		t.Fatalf("NOT TESTED, and CI=true allows no gaps: this needs %s: %s", what, how)
		return
	}
	t.Skipf("NOT TESTED: this needs %s: %s", what, how)
}

// Gap notes that part of a test was left out for want of something; the test
// goes on.
func Gap(t testing.TB, what, how string) {
	t.Helper()
	if CI() {
		t.Errorf("NOT TESTED, and CI=true allows no gaps: part of this needs %s: %s", what, how)
		return
	}
	t.Logf("NOT TESTED: part of this needs %s: %s", what, how)
}

// Root ends a test that is not run as root. Why says what only root may do:
// "to run the jobs of others".
func Root(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "root "+why, "run the tests as root")
	}
}

// Debian ends a test that is not run on Debian, whose packages it installs.
func Debian(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		Missing(t, "Debian's packages, and this is no Debian", "run the tests on Debian")
	}
}

// Program returns the path of a program of the PATH. Pkg names the Debian package
// that has it.
func Program(t testing.TB, name, pkg string) string {
	t.Helper()
	path := find(name, os.Getenv("PATH"))
	if path == "" {
		Missing(t, "the program "+name, "install it (Debian: apt-get install "+pkg+")")
	}
	return path
}

// find looks a program up as a shell does; "" if there is none.
func find(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// Tmpfs mounts an empty file system in memory on a folder until the end of the
// test, and gives the folder. Options are those of tmpfs(5): "size=512k" makes
// a disk that is soon full.
func Tmpfs(t testing.TB, dir, options string) string {
	t.Helper()
	Root(t, "to mount a file system")
	if err := syscall.Mount("jjm-test", dir, "tmpfs", 0, options); err != nil {
		Missing(t, "a tmpfs with "+options+", and to mount it gives \""+err.Error()+"\"",
			"run the tests where root may mount (CAP_SYS_ADMIN)")
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}
