// Package gatekeepers_test puts jjm behind real gatekeepers - Globus GRAM5 and
// ARC - and does to them what users, administrators and bad luck do: jobs that
// end well, fail, are killed; daemons that restart; gatekeepers that are killed
// in the middle; disks that are full.
//
// GRAM is tested in three tiers: the script that its job manager runs, a personal
// gatekeeper of an ordinary account, and the gatekeeper of a site. The
// gatekeepers come from scripts/testbed, each in a network namespace of its own.
// As in adapters/testbed, what cannot be run is skipped loudly, and with CI=true
// it fails.
//
// JJM_BIN names a folder with jjm's programs; otherwise they are built.
package gatekeepers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Deadlines. They are generous: a test that passes never waits for one.
const (
	patience  = 3 * time.Minute
	pollEvery = 50 * time.Millisecond
)

// programs is where jjm's programs are.
var programs string

func TestMain(m *testing.M) {
	dir, err := prepare()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gatekeepers:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// prepare finds or builds the programs, where every account can run them.
func prepare() (dir string, err error) {
	if programs = os.Getenv("JJM_BIN"); programs != "" {
		programs, err = filepath.Abs(programs)
		return "", err
	}
	if dir, err = os.MkdirTemp("/tmp", "jjm-programs"); err != nil {
		return "", err
	}
	programs = dir
	if err := os.Chmod(dir, 0o755); err != nil {
		return dir, err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", dir+"/", "jjm/cmd/jjm", "jjm/cmd/jjm-gatekeeper",
		"jjm/cmd/jjm-daemon", "jjm/cmd/jjm-wrapper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return dir, nil
}

// await polls until ok.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(pollEvery) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

// write writes a file that every account may read.
func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
