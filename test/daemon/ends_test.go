package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// toyEnds is the part of a type's file that defines the meanings of exit codes and the phase of the progress. toyPlan
// has the same content in the form of a plan.
const (
	toyEnds = `progress = "simulate"
[[ends]]
exit_codes = [75, 111]
action = "retry"
text = "the database was away"
retry_args = ["--again"]
[[ends]]
exit_codes = [3]
action = "complete"
text = "nothing passed the filter"
[[ends]]
exit_codes = [0]
action = "fail"
text = "it never ends with 0"
`
	toyPlan = `"progress": "simulate", "ends": [
{"exit_codes": [75, 111], "action": "retry", "text": "the database was away", "retry_args": ["--again"]},
{"exit_codes": [3], "action": "complete", "text": "nothing passed the filter"},
{"exit_codes": [0], "action": "fail", "text": "it never ends with 0"}]`
)

// toySteps is the program of the local jobs. The first reports two phases, waits, and asks to be retried. The third
// exits with 0, which its type counts as a failure.
const toySteps = `#!/bin/sh
case $1$GBS_RETRY_ARG_1 in
1) $JJM_PROGRESS simulate 4 && $JJM_PROGRESS copy 1 3
   until [ -e "$GO" ]; do sleep 0.05; done
   exit 75;;
1--again|2) exit 3;;
esac
exit 0
`

// TestTypes_SayWhatExitCodesMean: a type in a file and a type of a program define which exit codes mean success, retry
// and failure, and which phase's progress counts. A restarted daemon uses the same definitions.
func TestTypes_SayWhatExitCodesMean(t *testing.T) {
	t.Parallel()
	work := "name = \"toy\"\nsummary = \"a toy\"\ncommand = [\"toy.sh\", \"{serial}\"]\nenv = { GO = \"GOFILE\" }\n" + toyEnds +
		"[[inputs]]\npath = \"toy.sh\"\nexecutable = true\n[work]\nevents = 30\nevents_per_job = 10\n"
	program := `#!/bin/sh
read -r r
case $r in
*'"describe"'*) echo '{"protocol": 1, "summary": "a toy", "example": "type = \"toy\""}';;
*) cat <<'END'
{"plan": {"events": {"count": 30, "per_job": 10}, "command": ["toy.sh", "{serial}"], "env": {"GO": "GOFILE"},
 "inputs": [{"path": "toy.sh", "executable": true}], ` + toyPlan + `}}
END
esac
`
	for kind, files := range map[string]map[string]string{
		"file":    {"toy.toml": work},
		"program": {"toy.toml": "name = \"toy\"\nprogram = \"ask.sh\"\n", "ask.sh": program},
	} {
		t.Run(kind, func(t *testing.T) {
			folder, toGo := t.TempDir(), filepath.Join(t.TempDir(), "go")
			files["toy.sh"] = toySteps
			for name, text := range files {
				text = strings.ReplaceAll(text, "GOFILE", toGo)
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			saysWhatExitCodesMean(t, start(t, "job_types = \""+folder+"\"\n[engine]\nbackoff = \"0s\"\n"), toGo)
		})
	}
}

func saysWhatExitCodesMean(t *testing.T, d *daemon, toGo string) {
	d.write("toy.toml", "type = \"toy\"\n")
	if out, code := d.tells("submit", "toy.toml"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	path := func(path string) string {
		out, _ := d.tells("record", "1", "--path", path)
		return strings.TrimSpace(out)
	}
	d.eventually("the phase of the type is shown, of its part", func() bool {
		return path("//localjob[@id='1.0']/progress/@phase") == "simulate" &&
			path("//localjob[@id='1.0']/progress/@done") == "4" && path("//localjob[@id='1.0']/progress/@total") == "10"
	})
	d.restart()
	if err := os.WriteFile(toGo, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, code := d.tells("wait", "1"); code != 1 {
		t.Errorf("exit %d\n%s", code, out)
	}
	for id, want := range map[string][3]string{
		"1.0": {"completed", "1", "the job type says complete: exit code 3: nothing passed the filter"},
		"1.1": {"completed", "0", "the job type says complete: exit code 3: nothing passed the filter"},
		"1.2": {"failed", "0", "the job type says fail: exit code 0: it never ends with 0"},
	} {
		l := "//localjob[@id='" + id + "']"
		got := [3]string{path(l + "/@state"), path(l + "/@attempt"), path(l + "/message")}
		if got[0] != want[0] || got[1] != want[1] || !strings.Contains(got[2], want[2]) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}
