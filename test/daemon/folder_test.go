package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolder_IsAnInput: a job runs a program in a folder that is its input, with the folder's modes and links. A link
// that leads outside, or a folder that is too large, is refused before anything is stored.
func TestFolder_IsAnInput(t *testing.T) {
	t.Parallel()
	d := start(t, "[engine]\nmax_input_files = 4\n")
	at := func(name string) string { return filepath.Join(d.dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(at("release/bin"), 0o755))
	d.write("release/data", "of the release\n")
	d.write("release/bin/run.sh", "#!/bin/sh\ncat release/data >\"$1\"; [ -x release/now/run.sh ] && [ ! -x release/data ]\n")
	must(os.Chmod(at("release/bin/run.sh"), 0o755))
	must(os.Chmod(at("release/data"), 0o444))
	must(os.Symlink("bin", at("release/now")))
	d.write("job.toml", "type = \"script\"\n[[inputs]]\npath = \"release\"\n[params]\ncommand = [\"release/bin/run.sh\", \""+
		at("out")+"\"]\n")
	if out, code := d.says("submit", "job.toml", "--wait"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if got, err := os.ReadFile(at("out")); string(got) != "of the release\n" {
		t.Errorf("%q, %v", got, err)
	}
	refused := func(what, want string) {
		t.Helper()
		cmd := bin.Command(t, "submit", "job.toml")
		cmd.Env, cmd.Dir = d.env, d.dir
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "inputs[0].") || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
	must(os.Symlink("/etc/passwd", at("release/way")))
	refused("a link out", "leads out of the folder")
	must(os.Remove(at("release/way")))
	d.write("release/one.more", "")
	refused("too many", "engine.max_input_files")
	must(os.Remove(at("release/one.more")))
	d.write("job.toml", "type = \"script\"\n[[inputs]]\npath = \"release\"\nexecutable = true\n[params]\n"+
		"command = [\"release/bin/run.sh\"]\n")
	refused("executable", "is a folder, whose files keep their modes")
}
