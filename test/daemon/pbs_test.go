package daemon_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// pbsMoods are settings of the fake PBS with which the demonstration succeeds (docs/PBS.md, The fake). Every run of the
// test uses the first of these settings; the campaign also uses the others.
var pbsMoods = []string{
	"FAULTS=one-id", "", "WAIT=2s", "HISTORY=off", "FAULTS=lost-history", "PORTS=512", "PORTS=12 FAULTS=ports-quiet",
	"FAULTS=endless", "FAULTS=qdel-crash", "FAULTS=qsub-killed", "FAULTS=qalter-killed", "FAULTS=qalter-denied",
	"FAULTS=rerun",
}

// TestDemo_RunsOnPBSInItsMoods runs the demonstration on the fake PBS, once with each of the settings pbsMoods.
func TestDemo_RunsOnPBSInItsMoods(t *testing.T) {
	t.Parallel()
	program := buildFakePBS(t)
	for i, mood := range pbsMoods {
		t.Run(cmp.Or(mood, "as recorded"), func(t *testing.T) {
			if i > 0 {
				needs.Campaign(t, needs.Systems)
			}
			t.Parallel()
			home, dir := demoFolder(t), shortDir(t)
			cmd := exec.CommandContext(await.Context(t, 10*time.Minute), "sh", "scripts/demo.sh")
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "DEMO_DIR="+dir, "DEMO_BIN="+bin.Dir(t), "DEMO_CONFIG="+onFakePBS(t, program, mood))
			out, err := cmd.CombinedOutput()
			if log, _ := os.ReadFile(filepath.Join(dir, "daemon.log")); err != nil {
				t.Fatalf("demo: %v\n%s\nthe daemon's log:\n%s", err, out, log)
			}
			if !strings.Contains(string(out), "the same, byte for byte") {
				t.Errorf("the outputs were not compared:\n%s", out)
			}
		})
	}
}

// buildFakePBS builds the fake PBS, and returns the path of its program.
func buildFakePBS(t *testing.T) string {
	t.Helper()
	needs.EndToEnd(t)
	program := filepath.Join(shortDir(t), "fakepbs")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "jjm/internal/testkit/fakepbs")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the fake PBS: %v\n%s", err, out)
	}
	return program
}

// onFakePBS installs the commands of a fake PBS with the given settings. It returns the path of a configuration of jjm
// that uses this PBS.
func onFakePBS(t *testing.T, program string, mood string) string {
	t.Helper()
	dir := shortDir(t)
	commands, complex := filepath.Join(dir, "bin"), filepath.Join(dir, "complex")
	if out, err := exec.Command(program, "install", commands).CombinedOutput(); err != nil {
		t.Fatalf("install: %v\n%s", err, out)
	}
	env := fmt.Sprintf("FAKEPBS_DIR = %q", complex)
	for setting := range strings.FieldsSeq(mood) {
		name, value, _ := strings.Cut(setting, "=")
		env += fmt.Sprintf(", FAKEPBS_%s = %q", name, value)
	}
	t.Cleanup(func() {
		stop := exec.Command(program, "stop")
		stop.Env = append(os.Environ(), "FAKEPBS_DIR="+complex)
		if out, err := stop.CombinedOutput(); err != nil {
			t.Errorf("stop: %v\n%s", err, out)
		}
	})
	config := filepath.Join(dir, "jjm.toml")
	text := fmt.Sprintf("[[cluster]]\nname = \"pbs\"\nkind = \"pbs\"\nbatch_settle = \"2s\"\nbin = %q\nenv = {%s}\n",
		commands, env)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return config
}
