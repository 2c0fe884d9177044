package daemon_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// "jjm config check" refuses the same configurations as serve, with the same errors, and reports all mistakes together.
func TestConfigCheck_SaysWhatServeSays(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "internal/app/testdata/bad/*.toml"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recorded files, %v", len(files), err)
	}
	env := append(os.Environ(), "HOME="+t.TempDir(), "JJM_STATE=", "XDG_STATE_HOME=", "JJM_CONFIG=", "NOTIFY_SOCKET=")
	jjm := func(args ...string) (string, int) {
		cmd := exec.Command(bin.Path(t, "jjm"), args...)
		var said bytes.Buffer
		cmd.Env, cmd.Stderr = env, &said
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return said.String(), cmd.ProcessState.ExitCode()
	}
	for _, file := range files {
		checked, code := jjm("config", "check", file)
		served, refused := jjm("serve", "--config", file)
		checked, named := strings.CutPrefix(checked, "jjm config check: ")
		served, also := strings.CutPrefix(served, "jjm serve: ")
		if code != 5 || refused != 5 || !named || !also || checked != served {
			t.Errorf("%s: config check: exit %d\n%sserve: exit %d\n%s", file, code, checked, refused, served)
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".toml") + ".want")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(want)) {
			if line = strings.TrimSpace(line); !strings.HasSuffix(line, " problems") && !strings.Contains(checked, line) {
				t.Errorf("%s: config check does not say %s\nbut\n%s", file, line, checked)
			}
		}
	}
}

// checkOf returns the output of "jjm config check", including notes, with additional environment variables.
func checkOf(t *testing.T, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(bin.Path(t, "jjm"), append([]string{"config", "check"}, args...)...)
	cmd.Env = append(append(os.Environ(), "HOME="+t.TempDir(), "JJM_STATE=", "XDG_STATE_HOME=", "JJM_CONFIG="), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// An error about a configuration names the file that was read, and the place of each mistake.
func TestConfigCheck_NamesWhatIsWrongWhereItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("a-file", "")
	sound := write("sound.toml", "state = \""+dir+"/state\"\n")
	described := write("tiny.toml", tinyDescription)
	for name, c := range map[string]struct {
		env, args  []string
		code       int
		want, hide string
	}{
		"a state of the environment": {[]string{"JJM_STATE=" + file + "/s"}, []string{sound}, 5,
			"$JJM_STATE: ", "sound.toml:1"},
		"a file that cannot be read as TOML": {nil, []string{write("broken.toml", "state = \n")}, 5,
			"broken.toml:1", "note:"},
		"no file": {nil, []string{dir + "/none.toml"}, 5, "no such file", "note:"},
		"two files": {nil, []string{"--config", dir + "/none.toml", sound}, 2,
			"want one file", ": ok"},
		"an unknown kind": {nil, []string{write("kind.toml",
			"state = \""+dir+"/state\"\n[[cluster]]\nname = \"a\"\nkind = \"oracle\"\n")}, 5, "were not looked at", "note: bin"},
		"a folder of commands that is not there": {nil, []string{write("bin.toml", "state = \""+dir+
			"/state\"\n[[cluster]]\nname = \"a\"\nkind = \"slurm\"\nbin = \"/nowhere/bin\"\n")}, 0,
			"note: cluster[0].bin: stat /nowhere/bin: no such file or directory: no command", "5 problems"},
		"a folder of job types that is not there": {nil, []string{write("types.toml", "state = \""+dir+
			"/state\"\njob_types = \"/nowhere/types\"\n")}, 0, "note: job_types: /nowhere/types is not there", "problem"},
		"a work area with a blank": {nil, []string{write("blank.toml", "state = \""+dir+"/my state\"\n")}, 0,
			"note: state: \"" + dir + "/my state/work\" has blanks or characters that a shell expands", "problem"},
		"a description without a probe": {nil, []string{write("probe.toml", "state = \""+dir+
			"/state\"\n[[cluster]]\nname = \"a\"\nkind = \"command\"\ndescription = \""+described+"\"\n")}, 0,
			"note: cluster[0].description: " + described + " has no [[probe]]", "5 problems"},
	} {
		out, code := checkOf(t, c.env, c.args...)
		if code != c.code || !strings.Contains(out, c.want) || strings.Contains(out, c.hide) {
			t.Errorf("%s: exit %d, want %d and %q, without %q\n%s", name, code, c.code, c.want, c.hide, out)
		}
	}
}

const tinyDescription = `name = "tiny"
[ids]
job = "%__BATCH_JOB_ID__.%__ARRAY_INDEX__"
[job]
id_variable = "TINY_ID"
index_variable = "TINY_INDEX"
[submit]
command = ["tsub", "-n", "%__TAG__", "-c", "%__COUNT__", "%__OPTIONS__"]
[[submit.outcome]]
word = "ok"
stdout = "request %__BATCH_JOB_ID__ queued"
[list]
command = ["tstat"]
columns = ["job", "state", "name"]
[[list.outcome]]
word = "ok"
[cancel]
command = ["tdel", "%__JOB_IDS__"]
[[cancel.outcome]]
word = "ok"
stdout = "%__JOB_ID__ deleted"
[states]
R = "RUNNING"
D = "OK"
`
