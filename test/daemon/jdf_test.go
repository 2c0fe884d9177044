package daemon_test

import (
	"os"
	"strings"
	"testing"
)

// TestJDF_AJobOfJIMRuns: the example in JIM's format is explained and run. A file that names a missing dataset is
// refused, and the error has the line and the word.
func TestJDF_AJobOfJIMRuns(t *testing.T) {
	t.Parallel()
	d := start(t, "[engine]\nbackoff = \"0s\"\n")
	text := example(t, "jim.jdf")
	d.write("jim.jdf", text)
	d.write("mc_runjob", example(t, "mc_runjob"))
	if out, code := d.says("submit", "--dry-run", "jim.jdf"); code != 0 ||
		!strings.Contains(out, "mc_runjob 4711 401 100") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if out, code := d.says("submit", "jim.jdf", "--wait"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if out, code := d.says("verify", "1"); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
	d.write("wrong.jdf", "minbias_dataset = nowhere\n"+text)
	cmd := bin.Command(t, "submit", "wrong.jdf")
	cmd.Env, cmd.Dir = d.env, d.dir
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "wrong.jdf:1: minbias_dataset: ") ||
		!strings.Contains(string(out), "has no dataset nowhere") {
		t.Errorf("%v: %s", err, out)
	}
}

func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + "/etc/examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
