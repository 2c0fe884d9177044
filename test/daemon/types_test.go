package daemon_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"jjm/internal/needs"
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

// TestTypes_AProgramInAnyLanguage: a type in Python, of its standard library alone, is begun,
// tested and used; what it planned goes on when it is broken, and harms nobody else.
func TestTypes_AProgramInAnyLanguage(t *testing.T) {
	needs.Program(t, "python3", "python3")
	d := start(t, "[engine]\nbackoff = \"0s\"\n")
	want := func(code int, text string, args ...string) {
		t.Helper()
		if out, got := d.tells(args...); got != code || !strings.Contains(out, text) {
			t.Fatalf("jjm %s: exit %d, want %d and %q\n%s", strings.Join(args, " "), got, code, text, out)
		}
	}
	want(0, "scan.py", "job-types", "new", "scan", "--kind", "python")
	want(0, "ok    scan-job.toml", "job-types", "test", "scan.toml", "scan-job.toml")
	want(0, "part 3 ended with exit code 0", "run", "scan-job.toml", "--type", "scan.toml", "--part", "3")
	folder := filepath.Join(d.dir, "state/job-types.d")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scan.toml", "scan.py"} {
		if err := os.Rename(filepath.Join(d.dir, name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	d.restart()
	want(0, "the last value", "job-types", "scan")
	want(0, "planned by scan.py, SHA-256", "submit", "--dry-run", "scan-job.toml")
	d.write("bad.toml", "type = \"scan\"\n[params]\nfrom = 2.0\nto = 1.0\n")
	want(5, "params.to: must be above from", "submit", "bad.toml")
	d.write("odd.toml", "type = \"scan\"\n[params]\nfrom = 2.0\nto = 1.0\njjm_plan = {}\n")
	want(5, "is for jjm alone", "submit", "odd.toml")
	want(0, "", "pause", "cluster", "local", "--reason", "test")
	want(0, "", "submit", "scan-job.toml")
	d.eventually("its inputs are packed", func() bool {
		out, _ := d.tells("record", "1", "--path", "/gridjob/step/@prepared")
		return strings.TrimSpace(out) == "true"
	})
	if err := os.WriteFile(filepath.Join(folder, "scan.py"), []byte("#!/bin/sh\necho no way >&2\nexit 3\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	d.restart()
	want(0, "", "resume", "cluster", "local")
	want(0, "done", "wait", "1")
	want(0, "planned by scan.py, SHA-256", "record", "1", "--path", "//why")
	want(5, "exit code 3: no way", "submit", "scan-job.toml")
	want(5, "exit code 3: no way", "config", "check")
	d.write("echo.toml", "type = \"script\"\n[params]\ncommand = [\"echo\"]\n")
	want(0, "done", "submit", "echo.toml", "--wait")
}

// A program that hangs, floods or goes away is ended, and its job file refused, while
// others submit.
func TestTypes_AProgramThatMisbehavesHoldsUpNobody(t *testing.T) {
	folder := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	describe := `read -r r; case $r in *describe*) echo '{"protocol": 1, "summary": "x", "example": "type = \"x\""}'; exit;; esac` + "\n"
	for name, does := range map[string]string{"hangs": "sleep 1000 & wait", "floods": "yes '{\"plan\"'",
		"dies": "kill -9 $$",
		"mute": "exit 0"} {
		put(name+".toml", "name = \""+name+"\"\nprogram = \""+name+".sh\"\n", 0o644)
		put(name+".sh", "#!/bin/sh\n"+describe+does+"\n", 0o755)
	}
	d := start(t, "job_types = \""+folder+"\"\n")
	d.write("echo.toml", "type = \"script\"\n[params]\ncommand = [\"echo\"]\n")
	d.write("hangs.toml", "type = \"hangs\"\n")
	hangs := make(chan int)
	go func() {
		_, code := d.tells("submit", "hangs.toml")
		hangs <- code
	}()
	for name, text := range map[string]string{"floods": "writes more than 8 MiB", "dies": "exit code 137",
		"mute": "is no JSON object"} {
		d.write(name+".toml", "type = \""+name+"\"\n")
		if out, code := d.tells("submit", name+".toml"); code != 5 || !strings.Contains(out, text) {
			t.Errorf("%s: exit %d\n%s", name, code, out)
		}
		if out, code := d.tells("submit", "echo.toml", "--wait"); code != 0 {
			t.Errorf("beside %s: exit %d\n%s", name, code, out)
		}
	}
	if code := <-hangs; code == 0 {
		t.Error("a program that hangs has made a plan")
	}
}

// What exit codes mean is the type's to say: one is tried again, one is a success, one a
// failure with its reason.
func TestTypes_SayWhatExitCodesMean(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "odd.toml"), []byte(`name = "odd"
summary = "ends oddly"
command = ["sh", "-c", "[ $JJM_ATTEMPT -gt 0 ] && exit 0; exit {code}"]
on_exit = { 75 = "RETRY", 3 = "FAILED no calibration", 2 = "SUCCEEDED" }
[work]
count = 1
[[settings]]
name = "code"
type = "whole number"
required = true
help = "with which it ends"
`), 0o644); err != nil {
		t.Fatal(err)
	}
	d := start(t, "job_types = \""+folder+"\"\n[engine]\nbackoff = \"0s\"\n")
	for i, c := range []struct {
		code, want, says string
	}{{"75", "done", ""}, {"2", "done", ""}, {"3", "failed", "no calibration"}, {"9", "failed", "exit code 9"}} {
		d.write("job.toml", "type = \"odd\"\n[params]\ncode = "+c.code+"\n")
		out, _ := d.tells("submit", "job.toml", "--wait")
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: want %s\n%s", c.code, c.want, out)
		}
		local := strconv.Itoa(i+1) + ".0"
		if out, _ := d.tells("status", local); !strings.Contains(out, c.says) {
			t.Errorf("%s: no %q in\n%s", c.code, c.says, out)
		}
		exit, _ := d.tells("record", strconv.Itoa(i+1), "--path", "//localjob/@exit")
		if want := map[string]string{"75": "0"}[c.code]; strings.TrimSpace(exit) != cmp.Or(want, c.code) {
			t.Errorf("%s: the record says exit %s", c.code, exit)
		}
	}
}
