package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reader is the program of the local jobs. It writes down each event of each file that it processes. It fails at a
// file, or at an event of a file, for which a file fail.* exists.
const reader = `#!/bin/sh
dir=$1 file=$2 first=$3 count=$4
[ -e "$dir/fail.$file" ] && exit 3
[ -e "$dir/fail.$file.$first" ] && exit 3
[ "$count" -lt 0 ] && count=25 # all of the file
n=0
while [ $n -lt "$count" ]; do echo "$file $((first + n))" >>"$dir/done.$file.$first"; n=$((n + 1)); done
$GBS_LOG INFO "processed=$n events"
`

// TestVerify_ADatasetsRecoveryClosesItsGaps: some files failed completely or in part, and one file is lost. The
// recovery processes exactly the work that the first grid job left undone. The lists that reader wrote contain every
// event once.
func TestVerify_ADatasetsRecoveryClosesItsGaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, how string
		fail      []string
		gap       string
		made      int
	}{
		{"whole files", "by = \"FileBased\"\nparams = {files_per_job = 1}", []string{"f2", "f5"}, "gap: 3 files missing", 3},
		{"ranges of events", "by = \"EventBased\"\nparams = {events_per_job = 10}", []string{"f2", "f4.10", "f5.20"},
			"gap: 65 events missing", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := start(t, "[engine]\nmax_attempts = 2\nbackoff = \"0s\"\n")
			d.write("read.sh", reader)
			for _, name := range c.fail {
				d.write("fail."+name, "")
			}
			d.write("list.jsonl", listOf(6, 25))
			if out, code := d.says("dataset", "add", "raw", "list.jsonl"); code != 0 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			if out, code := d.says("dataset", "mark", "raw", "f3", "lost", "--reason", "disk 7 is gone"); code != 0 ||
				out != "f3 lost\n" {
				t.Fatalf("exit %d\n%s", code, out)
			}
			d.says("dataset", "close", "raw")
			d.write("job.toml", fmt.Sprintf(
				"type = \"reprocess\"\nresult = \"exit\"\n[[datasets]]\nname = \"raw\"\n[split]\n%s\n[[inputs]]\npath = \"read.sh\"\nexecutable = true\n[params]\ncommand = [\"read.sh\", %q, \"{file}\", \"{first_event}\", \"{events}\"]\n", c.how, d.dir))
			d.says("submit", "job.toml", "--wait")
			out, code := d.says("verify", "1")
			if code != 1 || !strings.Contains(out, c.gap) || !strings.Contains(out, "the file is lost: disk 7 is gone") {
				t.Fatalf("exit %d\n%s", code, out)
			}
			if out, _ := d.says("status", "1"); !strings.Contains(out, "finished") {
				t.Errorf("status says\n%s", out)
			}
			if _, code := d.says("verify", "1", "--recovery", "missing.json"); code != 1 {
				t.Fatalf("verify --recovery: exit %d", code)
			}
			preview, code := d.says("split", "--preview", "missing.json")
			if want := fmt.Sprintf("makes %d local jobs", c.made); code != 0 || !strings.Contains(preview, want) {
				t.Errorf("preview: exit %d, want %q\n%s", code, want, preview)
			}
			for _, name := range c.fail {
				if err := os.Remove(filepath.Join(d.dir, "fail."+name)); err != nil {
					t.Fatal(err)
				}
			}
			if id, code := d.says("submit", "missing.json", "--wait"); code != 0 || strings.TrimSpace(id) != "2" {
				t.Fatalf("the recovery: id %s, exit %d", id, code)
			}
			for _, id := range []string{"2", "1"} {
				if out, code := d.says("verify", id); code != 0 || !strings.Contains(out, "proven: ") || id == "1" &&
					!strings.Contains(out, "; of these grid job 2 did") {
					t.Errorf("grid job %s is not proven once it is recovered: exit %d\n%s", id, code, out)
				}
			}
			d.everyFileOnce(6, 25)
		})
	}
}

// TestVerify_APartThatWasDoneInPartIsDoneAnew: if a local job processed fewer events than its part has, it is unknown
// which events are missing. The recovery therefore processes the whole part, and names the outputs that must not be
// used. The two grid jobs together are proven.
func TestVerify_APartThatWasDoneInPartIsDoneAnew(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	d.write("short", "")
	d.write("job.toml", fmt.Sprintf(`type = "script"
[params]
command = ["sh", "-c", 'n=5; [ -e %s/short ] && [ $1 = 2 ] && n=3; $GBS_LOG INFO "processed=$n events"', "sh", "{serial}"]
events = 15
events_per_job = 5
`, d.dir))
	d.says("submit", "job.toml", "--wait")
	out, code := d.says("verify", "1", "--recovery", "missing.json")
	if code != 1 || !strings.Contains(out, ": not all of it was processed (1.1)") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if err := os.Remove(filepath.Join(d.dir, "short")); err != nil {
		t.Fatal(err)
	}
	if id, code := d.says("submit", "missing.json", "--wait"); code != 0 || strings.TrimSpace(id) != "2" {
		t.Fatalf("the recovery: id %s, exit %d", id, code)
	}
	out, code = d.says("verify", "1")
	if code != 0 || !strings.Contains(out, "15 events processed exactly once; of these grid job 2 did 5") ||
		!strings.Contains(out, "do not use what these made, whose parts it did anew: 1.1") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// listOf returns a list of files f0, f1, ... as JSON lines.
func listOf(files, events int) string {
	var b strings.Builder
	for i := range files {
		fmt.Fprintf(&b, "{\"lfn\": \"f%d\", \"events\": %d}\n", i, events)
	}
	return b.String()
}

// everyFileOnce checks that the applications wrote down every event of every file once.
func (d *daemon) everyFileOnce(files, events int) {
	d.t.Helper()
	logs, err := filepath.Glob(filepath.Join(d.dir, "done.*"))
	if err != nil {
		d.t.Fatal(err)
	}
	var got, want []string
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			d.t.Fatal(err)
		}
		got = append(got, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	for i := range files {
		for e := range events {
			want = append(want, fmt.Sprintf("f%d %d", i, e))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("events (-wanted +processed):\n%s", diff)
	}
}

// A grid job without datasets is not done if its application reports fewer events than its local jobs have.
func TestVerify_APlainJobThatDidTooLittleIsNotDone(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	d.write("job.toml", "type = \"script\"\n[params]\ncommand = [\"sh\", \"-c\", '$GBS_LOG INFO \"processed=4 events\"']\nevents = 10\nevents_per_job = 5\n")
	d.says("submit", "job.toml", "--wait")
	out, _ := d.says("status", "1")
	if !strings.Contains(out, "finished") || !strings.Contains(out, "2 events less processed") {
		t.Errorf("%s", out)
	}
}
