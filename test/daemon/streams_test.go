package daemon_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/testkit/needs"

	"github.com/google/go-cmp/cmp"
)

// output returns the files in the tar of a grid job, without their folder.
func (d *daemon) output(id string) map[string]string {
	d.t.Helper()
	file := filepath.Join(d.t.TempDir(), "output.tar")
	if out, code := d.says("output", id, "-o", file); code != 0 {
		d.t.Fatalf("output of grid job %s: %s", id, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			d.t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			d.t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		if _, twice := files[name]; twice {
			d.t.Errorf("%s is in the tar twice", name)
		}
		files[name] = string(content)
	}
}

// beginning returns the names that begin with a text.
func beginning(files map[string]string, with string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, with) {
			names = append(names, name)
		}
	}
	return names
}

// restart kills the daemon and starts it again.
func (d *daemon) restart() {
	d.t.Helper()
	d.kill()
	d.again()
}

// kill ends the daemon immediately.
func (d *daemon) kill() {
	d.t.Helper()
	d.signal(syscall.SIGKILL)
	_ = d.cmd.Wait() // the error is that the daemon was killed
}

// again starts a new daemon with the same command, environment and state.
func (d *daemon) again() {
	d.t.Helper()
	d.cmd = exec.Command(d.cmd.Path, d.cmd.Args[1:]...)
	d.cmd.Env, d.cmd.Stderr = d.env, d.log
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.eventually("the daemon answers again", func() bool { return d.jjm("clusters") == nil })
}

// The test runs etc/examples/streams.toml with real programs. The grid job does what the comments of the example say.
func TestStreams_TheExampleDoesWhatItSays(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	example, err := filepath.Abs("../../etc/examples/streams.toml")
	if err != nil {
		t.Fatal(err)
	}
	plan, code := d.says("submit", "--dry-run", "--json", example)
	command := `"LINES.000002.txt","2","cards=/etc/os-release","/etc/hosts","/etc/passwd"`
	if code != 0 || !strings.Contains(plan, command) {
		t.Errorf("exit %d\n%s", code, plan)
	}
	if _, code := d.says("submit", example, "--wait"); code != 0 {
		t.Fatalf("exit %d: %s", code, d.log)
	}
	files := d.output("1")
	for prefix, want := range map[string][]string{"LINES": {"LINES.000001.txt", "LINES.000002.txt"},
		"notes": {"notes.0001.txt", "notes.0002.txt"}, "log": {"log.000001.tgz", "log.000002.tgz"}} {
		if diff := cmp.Diff(want, beginning(files, prefix)); diff != "" {
			t.Errorf("the tar (-want +got):\n%s", diff)
		}
	}
	if got := files["notes.0002.txt"]; got != "number 2, cards=/etc/os-release\n" {
		t.Errorf("notes.0002.txt is %q", got)
	}
	if got := files["LINES.000001.txt"]; !strings.Contains(got, "/etc/group") || !strings.Contains(got, "/etc/hostname") {
		t.Errorf("LINES.000001.txt is %q", got)
	}
	if got := beginning(files, "lines.1.0."); !slices.Equal(got, []string{"lines.1.0.job.glf", "lines.1.0.stderr",
		"lines.1.0.stdout"}) {
		t.Errorf("what has no template is %v", got)
	}
}

// The daemon is killed several times. The output names nevertheless have the numbers from 1 on, each exactly once, and
// each file was made by the local job with that number.
func TestStreams_AKilledDaemonNeitherRepeatsNorSkipsANumber(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	const jobs = 1500 // more than one transaction creates
	d := start(t, "")
	d.write("job.toml", fmt.Sprintf(`type = "script"
[[output_templates]]
name = "out.${SN:2}.txt"
stream = "OUT"
source = "made"
[params]
command = ["sh", "-c", 'echo "$1 $2" > made', "sh", "{serial}", "{OUT}"]
count = %d
`, jobs))
	id, code := d.says("submit", "job.toml")
	if code != 0 {
		t.Fatal(d.log)
	}
	for range 6 {
		d.restart()
	}
	d.says("wait", strings.TrimSpace(id))
	files := d.output("1")
	names := beginning(files, "out.")
	for n := 1; n <= jobs; n++ {
		name := fmt.Sprintf("out.%02d.txt", n)
		if want := fmt.Sprintf("%d %s\n", n, name); files[name] != want {
			t.Errorf("%s holds %q, want %q", name, files[name], want)
		}
	}
	if len(names) != jobs {
		t.Errorf("%d names: %v", len(names), names)
	}
}

// The outputs of a recovery are numbered after those of its grid job, so that the outputs of both can be in one folder.
func TestStreams_ARecoveryGoesOnWithTheNumbers(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	d.write("fail", "")
	d.write("job.toml", fmt.Sprintf(`type = "script"
[retry]
max_retry_early = 0
max_retry_late_unhandled = 0
[[output_templates]]
name = "out.${SN}.txt"
source = "made"
[[output_templates]]
name = "log.${SN}.tgz"
log = true
[params]
command = ["sh", "-c", '[ -e %s/fail ] && [ $1 = 2 ] && exit 3; echo $1 > made', "sh", "{serial}"]
events = 15
events_per_job = 5
`, d.dir))
	d.says("submit", "job.toml", "--wait")
	if diff := cmp.Diff([]string{"out.000001.txt", "out.000003.txt"}, beginning(d.output("1"), "out.")); diff != "" {
		t.Errorf("the tar (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"log.000001.tgz", "log.000002.tgz", "log.000003.tgz"},
		beginning(d.output("1"), "log.")); diff != "" {
		t.Errorf("the logs (-want +got):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(d.dir, "fail")); err != nil {
		t.Fatal(err)
	}
	if _, code := d.says("verify", "1", "--recovery", "missing.json"); code != 1 {
		t.Fatalf("verify: exit %d", code)
	}
	if _, code := d.says("submit", "missing.json", "--wait"); code != 0 {
		t.Fatalf("the recovery: exit %d", code)
	}
	if diff := cmp.Diff([]string{"out.000004.txt"}, beginning(d.output("2"), "out.")); diff != "" {
		t.Errorf("the tar of the recovery (-want +got):\n%s", diff)
	}
}
