package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stopped stops the daemon with SIGTERM, as an administrator does.
func (d *daemon) stopped() {
	d.t.Helper()
	d.signal(syscall.SIGTERM)
	if err := d.cmd.Wait(); err != nil {
		d.t.Fatalf("%v\n%s", err, d.log)
	}
}

// The folder of the work area is changed in the configuration while jobs run. With the new folder the daemon would
// conclude that these jobs left no result. It therefore refuses to start, and the error names the former folder.
func TestWork_AnotherFolderThanThatOfTheJobsIsRefused(t *testing.T) {
	t.Parallel()
	work := filepath.Join(shortDir(t), "work")
	d := start(t, "work = \""+work+"\"\n")
	d.write("job.toml", "type = \"script\"\n[params]\ncommand = [\"sh\", \"-c\", \"echo hello; while [ ! -e "+d.dir+
		"/go ]; do sleep 0.1; done\"]\ncount = 1\n")
	d.submits("job.toml")
	d.eventually("the job runs", func() bool {
		out, _ := d.says("cat", "1.0")
		return out == "hello\n"
	})
	d.stopped()

	misspelt := filepath.Join(filepath.Dir(work), "wrok")
	d.write("jjm.toml", "work = \""+misspelt+"\"\n")
	state := "JJM_STATE=" + d.dir + "/state"
	checked, code := checkOf(t, []string{state}, d.dir+"/jjm.toml")
	d.env = append(d.env, "JJM_CONFIG="+d.dir+"/jjm.toml")
	said, serves := d.serve(d.dir + "/state")
	if serves || code != 5 {
		t.Fatalf("it serves: %v; config check: exit %d\n%s\n%s", serves, code, checked, said)
	}
	for _, want := range []string{"grid jobs that are not over: 1", misspelt + "/" + userName(t),
		"work = \"" + work + "\""} {
		if !strings.Contains(checked, want) || !strings.Contains(said, want) {
			t.Errorf("want %q of check and daemon; they say\n%s\n%s", want, checked, said)
		}
	}
	if _, err := os.Stat(misspelt); err == nil {
		t.Error("what was refused left the misspelt folder behind")
	}

	// If the areas were moved to the new folder on purpose, the daemon accepts the new folder.
	if err := os.Rename(work, misspelt); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(misspelt, work); err != nil { // the running job still uses the old path
		t.Fatal(err)
	}
	if said, serves = d.serve(d.dir + "/state"); !serves || !strings.Contains(said, "in another folder than before") {
		t.Fatalf("it serves: %v\n%s", serves, said)
	}
	d.again()
	d.write("go", "")
	if out, code := d.says("wait", "1"); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, d.log)
	}
	folder := filepath.Join(misspelt, userName(t), "jobs", "1")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if out, _ := d.tells("cat", "1.0"); !strings.Contains(out, "is gone: "+folder) {
		t.Errorf("cat of a folder that is gone:\n%s", out)
	}
	if out, _ := d.tells("output", "1"); !strings.Contains(out, folder+"/output/") {
		t.Errorf("output of a folder that is gone:\n%s", out)
	}
}
