package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The files of a failed command of with.sh stay while other commands of the same run of a tier begin. The next run
// removes them. The files of a command that succeeds are removed at its end.
func TestWith_KeepsTheFilesOfAFailedStepUntilTheNextRun(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "run")
	with := func(run, script string) (left int) {
		t.Helper()
		cmd := exec.Command("sh", "../../scripts/testbed/with.sh", "sh", "-c", script)
		cmd.Env = append(os.Environ(), "JJM_RUNS="+runs, "JJM_RUN="+run, "JJM_BEDS=")
		out, err := cmd.CombinedOutput()
		if exit, failed := err.(*exec.ExitError); err != nil && !failed || failed && exit.ExitCode() != 3 {
			t.Fatalf("%v\n%s", err, out)
		}
		found, err := filepath.Glob(runs + ".*/evidence")
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	t.Cleanup(func() { with("cleanup", "exit 0") }) // removes what a failure of this test leaves
	const fails = `echo "what was wrong" >"$TMPDIR/evidence"; exit 3`
	for i, step := range []struct {
		run, script string
		left        int
	}{
		{"one", fails, 1}, {"one", "exit 0", 1}, {"one", fails, 2}, {"one", fails, 3}, {"one", fails, 4},
		{"one", "exit 0", 3}, {"two", "exit 0", 0}, {"", fails, 1}, {"", "exit 0", 0},
	} {
		if left := with(step.run, step.script); left != step.left {
			t.Errorf("after command %d: the files of %d failed commands are there, want %d", i, left, step.left)
		}
	}
}
