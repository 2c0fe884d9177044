package main

import (
	"fmt"
	"strings"
	"testing"
)

// Every id of a qstat takes a reserved port of the host. When no port is left, commands print the texts that were
// recorded in reserved_ports and ports_exit255.json.
func TestPorts_AreTakenForEachIDAndRunOut(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"FAKEPBS_PORTS": "7"})
	b.sh("jjmuser", "mkdir -p $FAKEPBS_DIR; echo 2026-11-26T00:00:00Z >$FAKEPBS_DIR/clock")
	b.sh("jjmuser", "for i in 1 2; do echo exit 0 | qsub -h; done") // each qsub takes a port
	out := b.sh("jjmuser", "qstat -f -F json 1 2")
	if out.Exit != 0 || strings.Count(string(out.Stdout), "Job_Name") != 2 {
		t.Errorf("with a port for each id: exit %d: %s%s", out.Exit, out.Stdout, out.Stderr)
	}
	const quiet = "pbs_iff: cannot connect to host\npbs_iff: all reserved ports in use\n"
	const all = quiet + "pbs_iff: cannot connect to host\nauth: error returned: -1\n" +
		"auth: Unable to authenticate connection (pbshost:15001)\nqstat: cannot connect to server pbshost (errno=-1)\n"
	for i, want := range []struct {
		command, stderr string
		exit, jobs      int
	}{
		{"qstat -f -F json 1 2", all, 255, 1}, // takes the last two ports
		{"qstat -f -F json 1 2", all, 255, 0},
		{"qstat -f -F json", all, 255, 0},
		{"touch $FAKEPBS_DIR/faults/ports-quiet; qstat -f -F json 1 2", quiet, 0, 0},
		{"qstat -f -F json", all, 255, 0}, // there is no recording in which another command exits with 0
		{"qdel 1", strings.ReplaceAll(all, "qstat:", "qdel:"), 255, 0},
		{"qrls 1", strings.ReplaceAll(all, "qstat:", "qrls:"), 255, 0},
		{"echo 2026-11-26T00:01:00Z >$FAKEPBS_DIR/clock; qstat -f -F json", "", 0, 2},
	} {
		out := b.sh("jjmuser", want.command)
		if got := strings.Count(string(out.Stdout), "Job_Name"); out.Exit != want.exit || string(out.Stderr) != want.stderr ||
			got != want.jobs {
			t.Errorf("%d, %s: exit %d, %d jobs: %s", i, want.command, out.Exit, got, out.Stderr)
		}
	}
}

// With the fault one-id, qstat shows only the first of several jobs as JSON, as recorded in json_several_ids.
func TestOneID_JSONAnswersTheFirstOfSeveral(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.sh("jjmuser", "for i in 1 2 3; do echo exit 0 | qsub -h; done; touch $FAKEPBS_DIR/faults/one-id")
	for args, want := range map[string]string{
		"-x -f -F json -t 1 2 3":  `0 ["1.pbshost"] `,
		"-x -f -F json -t 1 99":   `153 ["1.pbshost"] qstat: Unknown Job Id 99.pbshost`,
		"-x -f -F json -t 99 1 2": `153 ["1.pbshost"] qstat: Unknown Job Id 99.pbshost`,
	} {
		out := b.sh("jjmuser", "qstat "+args)
		var ids []string
		for _, id := range []string{"1.pbshost", "2.pbshost", "3.pbshost"} {
			if text := string(out.Stdout); strings.Contains(text, `"`+id+`":`) {
				ids = append(ids, id)
			}
		}
		if got := fmt.Sprintf("%d %q %s", out.Exit, ids, strings.TrimSpace(string(out.Stderr))); got != want {
			t.Errorf("qstat %s: %s, recorded %s", args, got, want)
		}
	}
}
