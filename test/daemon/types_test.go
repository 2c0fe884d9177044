package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTypes_FromAFileAlone is a newcomer's way: a type is begun, tested, tried in the
// foreground, put into the site's folder, and used; a recovery of it is cut as it is.
func TestTypes_FromAFileAlone(t *testing.T) {
	d := start(t, "[engine]\nbackoff = \"0s\"\n")
	want := func(code int, text string, args ...string) string {
		t.Helper()
		out, got := d.tells(args...)
		if got != code || !strings.Contains(out, text) {
			t.Fatalf("jjm %s: exit %d, want %d and %q\n%s", strings.Join(args, " "), got, code, text, out)
		}
		return out
	}
	want(0, "jjm run zmumu-job.toml --type zmumu.toml --part 0", "job-types", "new", "zmumu")
	want(5, "is there already", "job-types", "new", "zmumu")
	want(0, "ok    zmumu-job.toml", "job-types", "test", "zmumu.toml", "zmumu-job.toml")
	want(0, "1: events 101-200", "split", "--preview", "zmumu-job.toml", "--type", "zmumu.toml")
	want(0, "part 2 ended with exit code 0", "run", "zmumu-job.toml", "--type", "zmumu.toml", "--part", "2")
	made, err := os.ReadFile(filepath.Join(d.dir, "part-2/area/jobs/1/0xxx/0/attempt.0/work/zmumu.txt"))
	if err != nil || strings.Count(string(made), "\n") != 50 || !strings.HasPrefix(string(made), "event 201 mass ") {
		t.Errorf("%q %v", made, err)
	}
	want(2, "is not empty", "run", "zmumu-job.toml", "--type", "zmumu.toml", "--part", "2")
	want(2, "makes 3 local jobs", "run", "zmumu-job.toml", "--type", "zmumu.toml", "--part", "3", "--dir", "none")
	want(5, "unknown job type", "submit", "zmumu-job.toml")

	folder := filepath.Join(d.dir, "state/job-types.d")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"zmumu.toml", "zmumu.sh", "zmumu-job.toml"} {
		if err := os.Rename(filepath.Join(d.dir, name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	d.restart()
	want(0, "where the peak is", "job-types", "zmumu")
	d.write("bad.toml", "type = \"zmumu\"\n[params]\ntotal = 5\nmodle = \"peak\"\n")
	want(5, "did you mean \"model\"", "submit", "--dry-run", "bad.toml")
	want(0, "done", "submit", filepath.Join(folder, "zmumu-job.toml"), "--wait")
	want(0, "proven", "verify", "1")
	want(0, "out.tar", "output", "1", "-o", "out.tar")
	out, err := exec.Command("tar", "tf", filepath.Join(d.dir, "out.tar")).Output()
	if err != nil || strings.Count(string(out), ".zmumu.txt\n") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}

// A file that is wrong is told with its place, and the daemon does not start.
func TestTypes_MistakesAreToldBeforeTheStart(t *testing.T) {
	d := start(t, "job_types = \"\"\n")
	folder := filepath.Join(d.dir, "types")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	d.write("types/a.toml", "name = \"a\"\nsummary = \"a\"\ncommand = [\"a\", \"{b}\"]\n[work]\ncount = 1\n")
	d.write("new.toml", "state = \""+d.dir+"/other\"\njob_types = \""+folder+"\"\n")
	out, code := d.tells("config", "check", "new.toml")
	if code != 5 || !strings.Contains(out, "a.toml:3: command[1]: unknown placeholder") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if out, code := d.tells("serve", "--config", "new.toml"); code != 5 || !strings.Contains(out, "unknown placeholder") {
		t.Errorf("exit %d\n%s", code, out)
	}
	d.write("types/a.toml", "name = \"a\"\nsummary = \"a\"\ncommand = [\"a\"]\n[work]\ncount = 1\n")
	if out, code := d.tells("config", "check", "new.toml"); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if out, code := d.tells("config", "check", "new.toml"); code != 5 || !strings.Contains(out, "chmod go-w") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// tells is all that jjm says, its errors too, and its exit code.
func (d *daemon) tells(args ...string) (string, int) {
	d.t.Helper()
	cmd := exec.Command(bin.Path(d.t, "jjm"), args...)
	cmd.Env, cmd.Dir = d.env, d.dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		d.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
