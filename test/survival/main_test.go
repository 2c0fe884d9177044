// Package survival_test proves, with real processes, that nothing is lost,
// doubled or left behind when the daemon is killed.
//
// Each test has a site of its own: a state folder, a daemon with the embedded
// batch system, an application that keeps a ledger of its runs outside jjm. It
// kills daemons - at every named failpoint, and at random - starts them again,
// waits for the end, and then [site.verify] compares everything that tells about
// the grid job: the daemon's answers, the store, the claims, the journal, the
// record, the tar, and the ledger.
//
// JJM_BIN names a folder with the three programs; otherwise they are built.
// JJM_FAULTS=whole runs the whole campaign.
package survival_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// programs is where the three programs are.
var programs string

// daemons bounds how many sites run at once: the machine may be small.
var daemons = make(chan struct{}, 3)

func TestMain(m *testing.M) {
	dir, err := prepare()
	if err != nil {
		fmt.Fprintln(os.Stderr, "survival:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// prepare finds or builds the programs. They are reached by accounts without
// privileges too, so that their folder is open.
func prepare() (dir string, err error) {
	if programs = os.Getenv("JJM_BIN"); programs != "" {
		programs, err = filepath.Abs(programs)
		return "", err
	}
	if dir, err = os.MkdirTemp("", "jjm-programs"); err != nil {
		return "", err
	}
	programs = dir
	if err := os.Chmod(dir, 0o755); err != nil {
		return dir, err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", dir+"/", "jjm/cmd/jjm", "jjm/cmd/jjm-daemon", "jjm/cmd/jjm-wrapper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return dir, nil
}

// whole reports whether the whole campaign was asked for.
func whole() bool { return os.Getenv("JJM_FAULTS") == "whole" }

// repository is the folder of the module.
func repository(t *testing.T) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		dir, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}
