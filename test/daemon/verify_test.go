package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// says runs jjm in the daemon's folder, and returns its standard output and exit code.
func (d *daemon) says(args ...string) (string, int) {
	d.t.Helper()
	cmd := bin.Command(d.t, args...)
	cmd.Env, cmd.Dir = d.env, d.dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		d.t.Logf("jjm %s: exit %d: %s", strings.Join(args, " "), exit.ExitCode(), exit.Stderr)
		return string(out), exit.ExitCode()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return string(out), 0
}

// worker is the program of the local jobs. It writes down each event that it processes, with its seed. It fails if
// there is a file fail.N, where N is its first event. It reports the number of its events unless there is a file named
// silent.
const worker = `#!/bin/sh
[ -e "$1/fail.$2" ] && exit 3
n=0
while [ $n -lt "$3" ]; do echo "$(($2 + n)) $4" >>"$1/done.$2"; n=$((n + 1)); done
[ -e "$1/silent" ] || $GBS_LOG INFO "processed=$n events"
`

// TestVerify_AGapIsFoundAndItsRecoveryClosesIt: some local jobs fail, verify finds the gap, and a recovery closes it.
// Both grid jobs together processed every event once, and used no seed twice.
func TestVerify_AGapIsFoundAndItsRecoveryClosesIt(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	d.write("work.sh", worker)
	d.write("job.toml", fmt.Sprintf(`type = "script"
[[inputs]]
path = "work.sh"
executable = true
[params]
command = ["work.sh", %q, "{first_event}", "{events}", "{seed}"]
events = 95
events_per_job = 10
`, d.dir))
	for _, first := range []int{11, 41, 51, 91} {
		d.write(fmt.Sprintf("fail.%d", first), "")
	}
	d.says("submit", "job.toml", "--wait")
	out, code := d.says("verify", "1")
	if code != 1 || !strings.Contains(out, "gap: 35 events missing") ||
		!strings.Contains(out, "events 41-50: its local job is failed (1.4)") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if err := os.Mkdir(filepath.Join(d.dir, "elsewhere"), 0o755); err != nil {
		t.Fatal(err)
	}
	recovery := "elsewhere/missing.json" // in another folder: the file must not depend on its folder
	if _, code := d.says("verify", "1", "--recovery", recovery); code != 1 {
		t.Fatalf("verify --recovery: exit %d", code)
	}
	if _, code := d.says("verify", "1", "--recovery", recovery); code != 8 {
		t.Errorf("a recovery that is there is written over: exit %d", code)
	}
	preview, code := d.says("split", "--preview", recovery)
	if code != 0 || !strings.Contains(preview, "makes 4 local jobs") {
		t.Errorf("preview of the recovery: exit %d\n%s", code, preview)
	}
	for _, first := range []int{11, 41, 51, 91} {
		if err := os.Remove(filepath.Join(d.dir, fmt.Sprintf("fail.%d", first))); err != nil {
			t.Fatal(err)
		}
	}
	if id, code := d.says("submit", recovery, "--wait"); code != 0 || strings.TrimSpace(id) != "2" {
		t.Fatalf("the recovery: id %s, exit %d", id, code)
	}
	if id, _ := d.says("submit", recovery); strings.TrimSpace(id) != "2" {
		t.Errorf("the recovery, submitted again, is grid job %s", id)
	}
	if out, code := d.says("verify", "2"); code != 0 ||
		!strings.Contains(out, "proven: 35 events processed exactly once") {
		t.Errorf("the recovery is not proven: exit %d\n%s", code, out)
	}
	d.everyEventOnce(95)
}

// everyEventOnce checks that the workers wrote down each of the events 1 to n once, and that no two local jobs used the
// same seed.
func (d *daemon) everyEventOnce(n int) {
	d.t.Helper()
	files, err := filepath.Glob(filepath.Join(d.dir, "done.*"))
	if err != nil {
		d.t.Fatal(err)
	}
	var got, want []int
	seeds := map[int]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			d.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var event, seed int
			if _, err := fmt.Sscan(line, &event, &seed); err != nil {
				d.t.Fatal(err)
			}
			got = append(got, event)
			if other, ok := seeds[seed]; ok && other != file {
				d.t.Errorf("seed %d is that of %s and %s", seed, other, file)
			}
			seeds[seed] = file
		}
	}
	for e := range n {
		want = append(want, e+1)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("events (-wanted +processed):\n%s", diff)
	}
}

// If a command succeeds, its row is proven. If the application does not count its events, status and verify both say
// that the events are assumed.
func TestVerify_SilenceIsAssumedAndSaidSo(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	d.write("job.toml", "type = \"script\"\n[params]\ncommand = [\"true\"]\ncount = 3\n")
	d.says("submit", "job.toml", "--wait")
	d.write("events.toml", "type = \"script\"\n[params]\nevents = 30\nevents_per_job = 10\ncommand = [\"true\"]\n")
	d.says("submit", "events.toml", "--wait")
	for id, want := range map[string]struct {
		code                    int
		verdict                 string
		proven, assumed, silent int
		proof                   string
	}{"1": {0, "proven", 3, 0, 0, "exit"}, "2": {3, "undecidable", 0, 30, 3, ""}} {
		out, code := d.says("verify", id, "--json", "--recovery", "none.json")
		var r struct {
			Verdict, Why, Proof     string
			Proven, Assumed, Silent int
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != want.code || r.Verdict != want.verdict ||
			r.Proven != want.proven || r.Assumed != want.assumed || r.Silent != want.silent ||
			r.Proof != want.proof {
			t.Errorf("exit %d, %v\n%s", code, err, out)
		}
		status, _ := d.says("status", id)
		if told := strings.Contains(status, r.Verdict+": "+r.Why); told != (want.code == 3) ||
			!strings.Contains(status, "done") {
			t.Errorf("verify says %q, status:\n%s", r.Why, status)
		}
	}
	if _, err := os.Stat(filepath.Join(d.dir, "none.json")); err == nil {
		t.Error("a recovery of nothing was written")
	}
	if _, code := d.says("verify", "7"); code != 8 {
		t.Errorf("a grid job that is not there: exit %d", code)
	}
}

// The limit of processor time in a job file ends a process that exceeds the limit, and jjm shows this reason.
func TestRequest_ProcessorTimeIsLimited(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	d.write("job.toml", "type = \"script\"\nresult = \"exit\"\n[request]\ncpu_time = \"1s\"\n[retry]\nmax_retry_early = 0\nmax_retry_late_unhandled = 0\n"+
		"[params]\ncommand = [\"sh\", \"-c\", \"while :; do :; done\"]\n")
	d.says("submit", "job.toml", "--wait")
	if out, _ := d.says("status", "1.0"); !strings.Contains(out, "it used up its processor time") {
		t.Errorf("status:\n%s", out)
	}
}

// Ganga's splitters split the work of a script into parts. The settings of each part reach its command line and its
// environment, and verify proves all parts.
func TestSplit_GangasSplittersReachTheCommand(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	const head = "type = \"script\"\n[params]\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"replaced": {head + `command = ["sh", "-c", "dropped"]` + "\n[split]\nby = \"ArgSplitter\"\n" +
			`params = {args = [["-c", "echo one"], ["-c", "echo two"]]}`, []string{"one", "two"}},
		"appended": {head + `command = ["echo", "of"]` + "\n[split]\nby = \"ArgSplitter\"\n" +
			`params = {append = true, args = [["a", 1], ["b", true]]}`, []string{"of a 1", "of b true"}},
		"in place": {head + `command = ["echo", "{args}", "!"]` + "\n[split]\nby = \"ArgSplitter\"\n" +
			`params = {args = [["a"], ["b"]]}`, []string{"a !", "b !"}},
		"fields": {head + `command = ["sh", "-c", "echo $WHO: $0"]` + "\n[split]\nby = \"GenericSplitter\"\n" +
			`params = {multi_attrs = {"application.env" = [{WHO = "ann"}, {WHO = "bob"}], ` +
			`"application.args" = [["-c", "echo $WHO: x"], ["-c", "echo $WHO: y"]]}}`,
			[]string{"ann: x", "bob: y"}},
		"events": {head + `command = ["echo", "{first_event}", "{events}"]` + "\n[split]\nby = \"GaussSplitter\"\n" +
			`params = {eventsPerJob = 10, numberOfJobs = 3, firstEventNumber = 100}`,
			[]string{"101 10", "111 10", "121 10"}},
	} {
		t.Run(name, func(t *testing.T) {
			d.write("job.toml", c.text+"\n")
			out, code := d.says("submit", "job.toml", "--wait")
			if code != 0 {
				t.Fatalf("exit %d: %s", code, out)
			}
			id := regexp.MustCompile(`\d+`).FindString(out)
			for i, want := range c.want {
				if got, _ := d.says("cat", fmt.Sprintf("%s.%d", id, i)); strings.TrimSpace(got) != want {
					t.Errorf("%s.%d printed %q, want %q", id, i, got, want)
				}
			}
			if out, code := d.says("verify", id); (code != 0) != (name == "events") {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
	const generic = head + "command = [\"x\"]\n[split]\nby = \"GenericSplitter\"\nparams = "
	for text, problem := range map[string]string{
		head + "command = [\"x\"]\ncount = 2\n[split]\nby = \"ArgSplitter\"\nparams = {args = [[\"a\"]]}\n"://
		"params.count: split says",
		head + "command = [\"x\"]\n[split]\nby = \"ArgSplitter\"\nparams = {args = []}\n": "make no local jobs",
		head + "command = [\"x\"]\n[split]\nby = \"FileBased\"\n":                         "ArgSplitter, GenericSplitter",
		generic + "{attribute = \"backend.memory\", values = [100, \"much\"]}\n":          "values[1]: backend.memory",
		generic + "{attribute = \"backend.walltime\", values = [\"soon\"]}\n":             "values[0]: backend.walltime",
		generic + "{attribute = \"owner\", values = [\"root\"]}\n":                        "no field that a part may set",
	} {
		d.write("bad.toml", text)
		cmd := bin.Command(t, "submit", "bad.toml")
		cmd.Dir, cmd.Env = d.dir, d.env
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), problem) {
			t.Errorf("%v, %s\nwant %q", err, out, problem)
		}
	}
}
