package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// step is one command of a recorded session, with its output.
type step struct {
	command, stdout string
	exit            int
}

var stepForm = regexp.MustCompile(`(?ms)^\$ (.*?)$\n(.*?)^\[exit (\d+)\]$`)

// steps parses a session.
func steps(t *testing.T, text string) (out []step) {
	t.Helper()
	for _, m := range stepForm.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[3])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, step{m[1], m[2], n})
	}
	return out
}

// The test plays the recorded session deleted_waiting_subjob on the fake. In the session, a subjob is deleted before it
// runs, and is then shown at once and after the end of its array. The session also shows a whole array and a plain job.
func TestGolden_DeletedWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	for i, args := range []string{"-N recq -h -J 0-3", "-N recd -h -J 0-2", "-N recp -h"} {
		b.sh("jjmuser", fmt.Sprintf("qmgr -c 'set fake next=%d'; "+
			"echo exit 0 | qsub %s -o /dev/null -e /dev/null -", 92+i, args))
	}
	played := steps(t, read(t, "deleted_waiting_subjob").stdout)
	if len(played) != 9 {
		t.Fatalf("%d commands in the recording, want 9", len(played))
	}
	for _, s := range played {
		got := b.sh("jjmuser", regexp.MustCompile(`\S*\[\S*\]`).ReplaceAllString(s.command, `'$0'`))
		if got.Exit != s.exit {
			t.Errorf("%s: exit %d, recorded %d: %s", s.command, got.Exit, s.exit, got.Stderr)
		}
		if diff := cmp.Diff(same(s.stdout), same(string(got.Stdout))); diff != "" {
			t.Errorf("%s: (-recorded +fake):\n%s", s.command, diff)
		}
		if strings.HasPrefix(s.command, "qrls") {
			b.until("qstat -x -f -F json '92[]'", `"job_state":"F"`)
		}
	}
}
