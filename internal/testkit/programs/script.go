package programs

import (
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"jjm/internal/testkit/await"
)

// Unfinished is the script command "unfinished TEXT ID". It runs "jjm wait" with a timeout until the timeout is long
// enough on this machine for the daemon to answer, that is, until standard error contains TEXT. Each run must end with
// exit code 7. Afterwards the script can check the output of the last run.
func Unfinished(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unfinished TEXT ID")
	}
	for timeout := time.Second; ; timeout *= 2 {
		var failed *exec.ExitError
		err := ts.Exec("jjm", "wait", args[1], "--timeout", timeout.String())
		said := ts.ReadFile("stderr")
		switch {
		case !errors.As(err, &failed) || failed.ExitCode() != 7:
			ts.Fatalf("jjm wait ended with %v, want exit code 7: %s", err, said)
		case strings.Contains(said, args[0]):
			return
		case timeout > await.Guard(time.Minute):
			ts.Fatalf("waited %v, %s: %s: %s", timeout, await.Hung, args[0], said)
		}
	}
}
