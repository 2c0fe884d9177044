// Package needs is the only way in which a test may report that this machine lacks a requirement of the test: root, a
// program, a batch system.
//
// The package ensures that no test is left out silently. If a requirement is missing, the test is skipped with one line
// that begins with "NOT TESTED" and names the missing requirement and how to get it. If the environment has CI=true,
// tests must be complete, and the same line is a failure. A test in test/house forbids other ways to skip.
//
// The package installs and starts nothing. It also provides two things that need root: a small disk,
// and the rights of another account.
package needs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Machine names the environment variable that changes with the machine: its programs and
// accounts, and the account that runs the tests. The program test/tiers sets it.
const Machine = "JJM_MACHINE"

// asksMachine reads the variable Machine. Because of this, go test uses a cached result of the test only on the same
// machine: the cache notes which variables a test has read, but not what else the test has found out about the machine.
func asksMachine() { _ = os.Getenv(Machine) }

// CI reports whether tests must be complete, so that a missing requirement is a failure.
func CI() bool { return os.Getenv("CI") == "true" }

// Missing ends a test because a requirement is missing. what is the requirement; how is the remedy, in the imperative.
func Missing(t testing.TB, what, how string) {
	t.Helper()
	asksMachine()
	if CI() {
		t.Fatalf("NOT TESTED, and CI=true allows no gaps: this needs %s: %s", what, how)
		return
	}
	t.Skipf("NOT TESTED: this needs %s: %s", what, how)
}

// Gap reports that a part of the test was left out because a requirement is missing. The test continues.
func Gap(t testing.TB, what, how string) {
	t.Helper()
	asksMachine()
	if CI() {
		t.Errorf("NOT TESTED, and CI=true allows no gaps: part of this needs %s: %s", what, how)
		return
	}
	t.Logf("NOT TESTED: part of this needs %s: %s", what, how)
}

// Root ends the test if it does not run as root. why is the purpose for which the test needs root: "to run the jobs of
// others".
func Root(t testing.TB, why string) {
	t.Helper()
	asksMachine()
	if os.Geteuid() != 0 {
		Missing(t, "root "+why, "run the tests as root")
	}
}

// Debian ends the test if the machine does not run Debian, because the test needs Debian's packages.
func Debian(t testing.TB) {
	t.Helper()
	asksMachine()
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		Missing(t, "Debian's packages, and this is no Debian", "run the tests on Debian")
	}
}

// Program returns the path of a program in PATH, and ends the test if there is no such program. pkg is the Debian
// package that contains the program.
func Program(t testing.TB, name, pkg string) string {
	t.Helper()
	asksMachine()
	path := find(name, os.Getenv("PATH"))
	if path == "" {
		Missing(t, "the program "+name, "install it (Debian: apt-get install "+pkg+")")
	}
	return path
}

// find looks up a program in the same way as a shell. It returns "" if there is no such program.
func find(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// Tmpfs mounts an empty file system in memory on a folder until the end of the test and returns the folder. options are
// options of tmpfs(5): "size=512k" makes a small disk.
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
