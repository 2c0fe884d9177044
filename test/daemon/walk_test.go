package daemon_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/programs"
)

// walkKey is the key under which a script's environment stores the daemon of the script.
type walkKey struct{}

// always returns the names of the scripts that also run outside of campaigns, because they show features on which users
// rely.
func always() []string {
	return []string{"after", "auto", "baggage", "causes", "chain", "configcheck", "copy", "dataset_remove", "datasets",
		"down", "find", "force", "generations", "health", "hold", "jedimerge", "keywords", "leftout", "listcolumns",
		"notify", "offtypes", "outputs", "proof", "remove", "report", "required", "resources", "resplit", "rollback",
		"run", "selection", "set", "short", "status", "steps", "top", "trace", "typesplit", "why", "whyceiling", "words"}
}

// TestWalks runs scripts that contain commands of users and the expected output. Each script has a separate daemon,
// whose configuration is the script's jjm.toml, if it has one.
func TestWalks(t *testing.T) {
	path := bin.Dir(t) + ":" + os.Getenv("PATH")
	examples, err := filepath.Abs("../../etc/examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/walk",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			_, script, _ := strings.Cut(env.T().(testing.TB).Name(), "/")
			if !slices.Contains(always(), script) {
				needs.Campaign(env.T().(testing.TB), needs.Systems)
			}
			config, err := os.ReadFile(env.WorkDir + "/jjm.toml")
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if err := makePrograms(env.WorkDir); err != nil {
				return err
			}
			d := start(env.T().(testing.TB), strings.ReplaceAll(string(config), "$WORK", env.WorkDir))
			env.Values[walkKey{}] = d
			env.Setenv("PATH", path)
			env.Setenv("EXAMPLES", examples)
			env.Setenv("JJM_STATE", d.dir+"/state")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "until": until, "unfinished": programs.Unfinished, "daemon": daemonCmd,
		},
	})
}

// makePrograms makes the files of a folder executable that begin with "#!".
func makePrograms(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(text), "#!") {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}

// exits implements "exits CODE COMMAND...". It runs a command, which must end with the exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	got := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// daemonCmd implements "daemon stop", which kills the daemon, and "daemon start".
func daemonCmd(ts *testscript.TestScript, neg bool, args []string) {
	d := ts.Value(walkKey{}).(*daemon)
	switch {
	case neg || len(args) != 1:
		ts.Fatalf("usage: daemon stop|start")
	case args[0] == "stop":
		d.kill()
	case args[0] == "start":
		d.again()
	default:
		ts.Fatalf("daemon %s: want stop or start", args[0])
	}
}

// until implements "until TEXT jjm ...". It repeats a command of jjm until the command prints the text.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "jjm" {
		ts.Fatalf("usage: until TEXT jjm ...")
	}
	d := ts.Value(walkKey{}).(*daemon)
	await.Nil(d.t, args[0], func() error {
		if out, _ := d.says(args[2:]...); !strings.Contains(out, args[0]) {
			return errors.New(strings.Join(args[1:], " ") + " prints\n" + out)
		}
		return nil
	})
	ts.Check(ts.Exec(args[1], args[2:]...))
}
