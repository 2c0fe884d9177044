package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
)

// TestTypes_FromAFileAlone follows the steps of a newcomer: a type is created, tested, tried in the foreground, put
// into the site's folder, and used. A recovery of such a grid job is cut in the same way.
func TestTypes_FromAFileAlone(t *testing.T) {
	t.Parallel()
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
	want(5, "already exists", "job-types", "new", "zmumu")
	want(0, "ok: zmumu-job.toml", "job-types", "test", "zmumu.toml", "zmumu-job.toml")
	want(0, "ok: zmumu-job.toml", "job-types", "test", "zmumu.toml", "zmumu-job.toml=3")
	want(1, "makes 3 local jobs, want 4", "job-types", "test", "zmumu.toml", "zmumu-job.toml=4")
	want(2, "such as zmumu-job.toml=8", "job-types", "test", "zmumu.toml", "zmumu-job.toml=four")
	want(0, "1: events 101-200", "split", "--preview", "zmumu-job.toml", "--type", "zmumu.toml")
	want(0, "part 2 ended with exit code 0", "run", "zmumu-job.toml", "--type", "zmumu.toml", "--part", "2")
	made, err := os.ReadFile(filepath.Join(d.dir, "part-2/area/jobs/1/0xxx/2/attempt.0/work/zmumu.txt"))
	if err != nil || strings.Count(string(made), "\n") != 50 || !strings.HasPrefix(string(made), "event 201 mass ") {
		t.Errorf("%q %v", made, err)
	}
	job, err := os.ReadFile(filepath.Join(d.dir, "zmumu-job.toml"))
	if err != nil {
		t.Fatal(err)
	}
	d.write("named.toml", string(job)+"[[output_templates]]\nname = \"${SN}.txt\"\nstream = \"TXT\"\n"+
		"[[output_templates]]\nname = \"log.${SN}\"\nlog = true\n")
	// A part that runs in the foreground gets the same numbers and files from jjm as on the site.
	want(0, "output 000003.txt: missing", "run", "named.toml", "--type", "zmumu.toml", "--part", "2", "--dir", "named")
	if _, err := os.Stat(filepath.Join(d.dir, "named/area/jobs/1/0xxx/2/attempt.0/log.tgz")); err != nil {
		t.Errorf("the log of the part: %v", err)
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

	// The type is changed. A grid job that was accepted before continues with the version of the type at its acceptance.
	want(0, "", "pause", "cluster", "local", "--reason", "test")
	want(0, "", "submit", filepath.Join(folder, "zmumu-job.toml"))
	text, err := os.ReadFile(filepath.Join(folder, "zmumu.toml"))
	if err != nil || !strings.Contains(string(text), "91.1876") {
		t.Fatal(err)
	}
	d.write("state/job-types.d/zmumu.toml", strings.ReplaceAll(string(text), "91.1876", "5000"))
	d.restart()
	want(0, "", "resume", "cluster", "local")
	want(0, "done", "wait", "2")
	made = nil
	events, _ := filepath.Glob(filepath.Join(d.dir, "state/work/*/jobs/2/0xxx/0/attempt.0/work/zmumu.txt"))
	if len(events) == 1 {
		made, err = os.ReadFile(events[0])
	}
	if err != nil || !strings.HasPrefix(string(made), "event 1 mass 9") {
		t.Errorf("%v of %q: %.40q", err, events, made)
	}
	want(0, "declared by zmumu.toml, SHA-256 ", "record", "2", "--path", "//why")
}

// A mistake in the file of a type is reported with its place before the daemon starts. If the folder of types cannot be
// read, the daemon does not start.
func TestTypes_MistakesAreToldBeforeTheStart(t *testing.T) {
	t.Parallel()
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
	if !strings.Contains(out, folder+"/a.toml:3: ") {
		t.Errorf("not the whole path:\n%s", out)
	}
	d.write("none.toml", "state = \""+d.dir+"/other\"\njob_types = \""+folder+"/a.toml\"\n")
	for _, args := range [][]string{{"config", "check", "none.toml"}, {"serve", "--config", "none.toml"}} {
		if out, code := d.tells(args...); code != 5 || !strings.Contains(out, "job_types: ") {
			t.Errorf("exit %d\n%s", code, out)
		}
	}
	d.write("types/a.toml", "name = \"a\"\nsummary = \"a\"\ncommand = [\"a\"]\n[work]\ncount = 1\n")
	if out, code := d.tells("config", "check", "new.toml"); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
	for path, text := range map[string]string{
		"types":        "",
		"types/a.toml": "name = \"a\"\nsummary = \"a\"\ncommand = [\"a\"]\n[work]\ncount = 1\n",
		"types/a.sh":   "#!/bin/sh\n",
		"elsewhere":    "#!/bin/sh\n", // the program that b.toml names
	} {
		if text != "" {
			d.write(path, text)
		}
		if path == "elsewhere" {
			d.write("types/b.toml", "name = \"b\"\nprogram = \""+d.dir+"/elsewhere\"\n")
		}
		at := filepath.Join(d.dir, path)
		modes := []os.FileMode{0o757}
		if os.Geteuid() == 0 {
			modes = append(modes, 0o775) // root only: the group of an ordinary daemon may write
		}
		for _, mode := range modes {
			if err := os.Chmod(at, mode); err != nil {
				t.Fatal(err)
			}
			if out, code := d.tells("config", "check", "new.toml"); code != 5 || !strings.Contains(out, "chmod go-w "+at) {
				t.Errorf("%s %v: exit %d\n%s", path, mode, code, out)
			}
		}
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() != 0 {
			continue // no other account can own this folder
		}
		if err := os.Chown(at, 4711, 4711); err != nil {
			t.Fatal(err)
		}
		if out, code := d.tells("config", "check", "new.toml"); code != 5 || !strings.Contains(out, "chown 0 "+at) {
			t.Errorf("%s of another: exit %d\n%s", path, code, out)
		}
		if err := os.Chown(at, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// tells returns all output of jjm, including errors, and its exit code.
func (d *daemon) tells(args ...string) (string, int) {
	d.t.Helper()
	cmd := bin.Command(d.t, args...)
	cmd.Env, cmd.Dir = d.env, d.dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		d.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestTypes_AProgramInAnyLanguage: a type in Python that uses only the standard library is created, tested and used.
// Jobs that it planned continue after it is broken, and a broken type does not affect other types.
func TestTypes_AProgramInAnyLanguage(t *testing.T) {
	needs.Program(t, "python3", "python3")
	t.Parallel()
	d := start(t, "[engine]\nbackoff = \"0s\"\n")
	want := func(code int, text string, args ...string) {
		t.Helper()
		if out, got := d.tells(args...); got != code || !strings.Contains(out, text) {
			t.Fatalf("jjm %s: exit %d, want %d and %q\n%s", strings.Join(args, " "), got, code, text, out)
		}
	}
	want(0, "scan.py", "job-types", "new", "scan", "--kind", "python")
	want(0, "ok: scan-job.toml", "job-types", "test", "scan.toml", "scan-job.toml")
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
	d.eventually("its program said what it is", func() bool {
		out, _ := d.tells("job-types", "scan")
		return strings.Contains(out, "the last value")
	})
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

// A program that hangs, writes without end or dies is killed, and its job file is not accepted, while other job files
// are submitted. If the program hangs, the exit code means that a retry can help.
func TestTypes_AProgramThatMisbehavesHoldsUpNobody(t *testing.T) {
	t.Parallel()
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
	type answer struct {
		out  string
		code int
	}
	hangs := make(chan answer)
	go func() {
		out, code := d.tells("submit", "hangs.toml")
		hangs <- answer{out, code}
	}()
	for name, text := range map[string]string{"floods": "writes more than 8 MiB", "dies": "exit code 137",
		"mute": "it printed nothing"} {
		d.write(name+".toml", "type = \""+name+"\"\n")
		if out, code := d.tells("submit", name+".toml"); code != 5 || !strings.Contains(out, text) {
			t.Errorf("%s: exit %d\n%s", name, code, out)
		}
		if out, code := d.tells("submit", "echo.toml", "--wait"); code != 0 {
			t.Errorf("beside %s: exit %d\n%s", name, code, out)
		}
	}
	if got := <-hangs; got.code != 4 || !strings.Contains(got.out, "it did not end within 20 s") {
		t.Errorf("hangs: exit %d\n%s", got.code, got.out)
	}
}
