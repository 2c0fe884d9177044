package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// judgedSteps is the program of the local jobs. If its first argument is "analyse", it decides how a local job ended:
// it retries local job 1 once, completes 2 although 2 exited with 9, and fails 3 although 3 exited with 0. For 4 it
// prints an answer that jjm cannot use.
const judgedSteps = `#!/bin/sh
if [ "$1" != analyse ]; then
	[ "$1" = 2 ] && exit 9
	[ "$1$GBS_RETRY_ARG_1" = 1--slowly ] || echo "licence server away" >trace.txt
	exit 0
fi
case $2 in
1) grep -q licence trace.txt 2>/dev/null || { echo '{}'; exit; }
   echo '{"action": "retry", "text": "there was no licence", "retry_args": ["--slowly"]}';;
2) grep -q '"exit":9' && echo '{"action": "complete", "text": "9 means that nothing passed"}';;
3) echo '{"action": "fail", "text": "the histograms are empty"}';;
4) echo "Traceback: KeyError" >&2; exit 1;;
esac
`

// TestTypes_ACommandSaysOnTheWorkerWhatBecomesOfALocalJob: a type in a file and a type of a program name a command that
// examines the files of an attempt on the worker. The command decides whether the local job succeeds, fails, or is
// retried.
func TestTypes_ACommandSaysOnTheWorkerWhatBecomesOfALocalJob(t *testing.T) {
	t.Parallel()
	file := `name = "toy"
summary = "a toy"
command = ["toy.sh", "{serial}"]
analyse = ["toy.sh", "analyse", "{serial}"]
[[inputs]]
path = "toy.sh"
executable = true
[work]
count = 4
`
	program := `#!/bin/sh
read -r r
case $r in
*'"describe"'*) echo '{"protocol": 1, "summary": "a toy", "example": "type = \"toy\""}';;
*) cat <<'END'
{"plan": {"rows": [["a"], ["b"], ["c"], ["d"]], "command": ["toy.sh", "{serial}"],
 "analyse": ["toy.sh", "analyse", "{serial}"], "inputs": [{"path": "toy.sh", "executable": true}]}}
END
esac
`
	for kind, files := range map[string]map[string]string{
		"file":    {"toy.toml": file},
		"program": {"toy.toml": "name = \"toy\"\nprogram = \"ask.sh\"\n", "ask.sh": program},
	} {
		t.Run(kind, func(t *testing.T) {
			folder := t.TempDir()
			files["toy.sh"] = judgedSteps
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			analysesOnTheWorker(t, start(t, "job_types = \""+folder+"\"\n[engine]\nbackoff = \"0s\"\n"),
				filepath.Join(folder, "toy.toml"))
		})
	}
}

func analysesOnTheWorker(t *testing.T, d *daemon, file string) {
	d.write("toy.toml", "type = \"toy\"\n")
	if out, code := d.tells("submit", "toy.toml"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	path := func(path string) string {
		out, _ := d.tells("record", "1", "--path", path)
		return strings.TrimSpace(out)
	}
	for id, want := range map[string][3]string{
		"1.0": {"completed", "1", "exit code 0"},
		"1.1": {"completed", "0", "the job type says complete: 9 means that nothing passed"},
		"1.2": {"failed", "0", "the job type says fail: the histograms are empty"},
		"1.3": {"held", "0", "the job type says hold: its command toy.sh analyse 4 failed: " +
			"it ended with exit code 1: Traceback: KeyError"},
	} {
		l := "//localjob[@id='" + id + "']"
		d.eventually(id+" is "+want[0], func() bool { return path(l+"/@state") == want[0] })
		if got := path(l + "/@attempt"); got != want[1] {
			t.Errorf("%s: attempt %s, want %s", id, got, want[1])
		}
		if got := path(l + "/message"); !strings.Contains(got, want[2]) {
			t.Errorf("%s: %q, want %q", id, got, want[2])
		}
	}
	out, code := d.tells("run", "toy.toml", "--type", file, "--part", "2", "--dir", filepath.Join(t.TempDir(), "part"))
	if code != 1 || !strings.Contains(out, "the job type says fail: the histograms are empty") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
