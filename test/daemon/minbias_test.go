package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// overlay is the program of the local jobs. It writes down its events and its files of minimum bias (background events
// that are added to the signal). The part that begins at event 11 fails while the file "fail" exists.
const overlay = `#!/bin/sh
files=$(tr -d ' \n' <"$JJM_INPUT" | sed 's/.*"dataset":"mb","files":\[\([^]]*\)\].*/\1/')
[ "$2" = 11 ] && [ -e "$1/fail" ] && exit 3
echo "$2 $3 $JJM_FIRST_EVENT $JJM_EVENTS $files" >>"$1/done"
$GBS_LOG INFO "processed=$3 events"
`

const overlayJob = `type = "montecarlo"
result = "exit"
[[datasets]]
name = "mb"
secondary = true
attributes = "np=2"
files = [{lfn = "p1"}, {lfn = "p2"}, {lfn = "p3"}, {lfn = "p4"}]
[[inputs]]
path = "overlay.sh"
executable = true
[params]
command = ["overlay.sh", "DIR", "{first_event}", "{events}"]
events = 15
events_per_job = 10
`

// TestMinbias_MadeEventsReadFilesAlong: each local job of a Monte Carlo gets its own files of minimum bias. A recovery
// processes the failed parts, with files of minimum bias too.
func TestMinbias_MadeEventsReadFilesAlong(t *testing.T) {
	t.Parallel()
	d := start(t, "[engine]\nbackoff = \"0s\"\n")
	d.write("overlay.sh", overlay)
	d.write("fail", "")
	d.write("job.toml", strings.Replace(overlayJob, "DIR", d.dir, 1))
	if out, code := d.says("submit", "--dry-run", "job.toml"); code != 0 || !strings.Contains(out, "2 local jobs") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if out, code := d.says("split", "--preview", "job.toml"); code != 0 || !strings.Contains(out, "overlay.sh") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	d.says("submit", "job.toml", "--wait")
	if out, code := d.says("verify", "1", "--recovery", filepath.Join(d.dir, "again.json")); code != 1 ||
		!strings.Contains(out, "5 events missing") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if err := os.Remove(filepath.Join(d.dir, "fail")); err != nil {
		t.Fatal(err)
	}
	if out, code := d.says("submit", "again.json", "--wait"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	got, err := os.ReadFile(filepath.Join(d.dir, "done"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "1 10 1 10 \"p1\",\"p2\"\n11 5 11 5 \"p1\",\"p2\"\n"; string(got) != want {
		t.Errorf("done:\n%swant:\n%s", got, want)
	}
	if out, code := d.says("verify", "1"); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
}
