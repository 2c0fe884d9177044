package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
)

// TestTypes_TheDocumentsCommandsDoWhatTheySay runs every command of docs/JOB-TYPES.md in order, as a newcomer would: in
// an empty folder, in one shell, and without a variable that names the daemon. Before a block "sh anew" it starts a new
// daemon.
func TestTypes_TheDocumentsCommandsDoWhatTheySay(t *testing.T) {
	needs.Program(t, "python3", "python3")
	t.Parallel()
	text, err := os.ReadFile("../../docs/JOB-TYPES.md")
	if err != nil {
		t.Fatal(err)
	}
	home := shortDir(t)
	d := start(t, "", "HOME="+home, "XDG_STATE_HOME=", "JJM_STATE="+home+"/.local/state/jjm")
	ran, exports := 0, "unset JJM_STATE\n"
	for _, m := range regexp.MustCompile("(?ms)^```sh( anew)?\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if m[1] != "" {
			d.restart()
		}
		for line := range strings.Lines(m[2]) {
			ran++
			if strings.HasPrefix(line, "export ") {
				exports += line
			}
			if out, err := d.shell(exports + line); err != nil {
				t.Fatalf("%s%v\n%s", line, err, out)
			}
		}
	}
	if ran < 15 {
		t.Errorf("the document has %d commands: want the whole way of two types", ran)
	}
	for id, typ := range map[string]string{"1": "zmumu", "2": "scan"} {
		of, _ := d.tells("record", id, "--path", "/gridjob/@type")
		all, _ := d.tells("record", id, "--path", "//localjob/@id")
		done, _ := d.tells("record", id, "--path", "//localjob[@state='completed']/@id")
		if strings.TrimSpace(of) != typ || strings.Count(all, id+".") < 3 || done != all {
			t.Errorf("grid job %s is of type %q, has %q, of which are completed %q; want one of %s", id, of, all, done, typ)
		}
	}
}

// shell runs a command in the daemon's folder, with jjm's programs on the PATH.
func (d *daemon) shell(line string) (string, error) {
	d.t.Helper()
	cmd := exec.Command("sh", "-euc", line)
	cmd.Dir = d.dir
	cmd.Env = append(d.env, "PATH="+filepath.Dir(bin.Path(d.t, "jjm"))+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
