package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// keeps matches the line in which with.sh names the folder of a failed command.
var keeps = regexp.MustCompile(`the files of this run are in (\S+) until the next make test`)

// with runs a shell command in with.sh, without batch systems, and returns the output and the error.
func with(command string) (string, error) {
	cmd := exec.Command("sh", withScript, "sh", "-c", command)
	cmd.Env = append(os.Environ(), "JJM_BEDS=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ownRuns makes with.sh keep its folders below a folder of the test.
func ownRuns(t *testing.T) (runs string) {
	t.Helper()
	t.Chdir("../..")
	for _, script := range []string{withScript, "scripts/testbed/common.sh"} { // the cached result depends on them
		if _, err := os.ReadFile(script); err != nil {
			t.Fatal(err)
		}
	}
	runs = filepath.Join(t.TempDir(), "run")
	t.Setenv("JJM_RUNS", runs)
	t.Cleanup(func() {
		if err := forgetFiles(); err != nil {
			t.Error(err)
		}
	})
	return runs
}

func TestWith_KeepsTheFilesOfAFailedStepUntilATierBegins(t *testing.T) {
	runs := ownRuns(t)
	out, err := with("echo evidence >$TMPDIR/log; exit 3")
	kept := keeps.FindStringSubmatch(out)
	if err == nil || err.Error() != "exit status 3" || kept == nil {
		t.Fatalf("a failed step: %v, says\n%s", err, out)
	}
	for _, later := range []string{"true", "exit 1"} { // further steps of the same run
		out, _ := with(later)
		text, err := os.ReadFile(filepath.Join(kept[1], "log"))
		if err != nil || string(text) != "evidence\n" || strings.Contains(out, "removing") {
			t.Fatalf("after %q the log is %q, %v; with.sh says\n%s", later, text, err, out)
		}
	}
	if err := forgetFiles(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(runs + ".*"); err != nil || len(left) > 0 {
		t.Errorf("when a tier begins, %v are left, %v", left, err)
	}
}

// The files of the first failures stay. When there are enough, with.sh removes the files of further failures and says
// so.
func TestWith_KeepsTheFilesOfAFewFailedSteps(t *testing.T) {
	runs := ownRuns(t)
	said := 0
	for n := range 12 {
		out, _ := with(fmt.Sprintf("echo %d >$TMPDIR/log; exit 1", n))
		if keeps.MatchString(out) {
			said++
		} else if !strings.Contains(out, "the files of this run are removed, because") {
			t.Errorf("failure %d: with.sh says\n%s", n, out)
		}
	}
	left, err := filepath.Glob(runs + ".*/log")
	if err != nil || said != 10 || len(left) != said {
		t.Errorf("%d folders are said to be kept, and are: %v, %v", said, left, err)
	}
	for _, log := range left {
		if text, err := os.ReadFile(log); err != nil || len(text) > 2 {
			t.Errorf("%s is of failure %s, %v", log, text, err)
		}
	}
}
