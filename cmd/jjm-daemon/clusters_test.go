package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// site writes a configuration with the embedded batch system, and a wrapper that runs script. It returns the path of
// the configuration.
func site(t *testing.T, script string) (config string) {
	t.Helper()
	t.Setenv("JJM_STATE", "")
	dir := t.TempDir()
	wrapper := filepath.Join(dir, "jjm-wrapper")
	config = filepath.Join(dir, "jjm.toml")
	text := fmt.Sprintf("state = %q\nwrapper = %q\n[[cluster]]\nname = \"here\"\nkind = \"local\"\ngrace = \"50ms\"\n",
		filepath.Join(dir, "state"), wrapper)
	for path, text := range map[string]string{wrapper: "#!/bin/sh\n" + script + "\n", config: text} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, below := range []string{"state", "state/work"} {
			if left, _ := filepath.Glob(filepath.Join(dir, below, ".test-*")); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
		}
	})
	return config
}

func TestClustersTest_AGoodClusterPasses(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"clusters", "test", "here", "--json", "--config", site(t, "exit 0")}, &out,
		&errs); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out.String(), errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var check struct{ Check, Result string }
	if err := json.Unmarshal([]byte(lines[0]), &check); err != nil || check.Result != "ok" ||
		!strings.Contains(check.Check, "worker") {
		t.Errorf("the first line is %s, error %v", lines[0], err)
	}
	var sums struct {
		Cluster        string
		Passed, Failed int
		NotApplicable  int `json:"not_applicable"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sums); err != nil || sums.Cluster != "here" ||
		sums.Passed < 20 || sums.Failed != 0 {
		t.Errorf("the last line is %s, error %v", lines[len(lines)-1], err)
	}
	if len(lines) != sums.Passed+sums.NotApplicable+1 {
		t.Errorf("%d lines for %+v", len(lines), sums)
	}
}

func TestClustersTest_AFailureIsToldWithItsRemedy(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"clusters", "test", "here", "--config", site(t, "echo 'bad \033[2Jmachine' >&2; exit 126")}, &out,
		&errs)
	if code != exitNo {
		t.Fatalf("exit code %d\n%s", code, errs.String())
	}
	for _, want := range []string{"Testing cluster here (local)", "FAILED", "the wrapper can be executed there",
		`"126 bad \x1b[2Jmachine"`, "remedy: mount the work area without noexec", ", 1 failed,"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// If the commands of a batch system do not exist, "clusters test" reports one failed check, not one for each command.
func TestClustersTest_ADeadSystemIsToldOnce(t *testing.T) {
	config := site(t, "exit 0")
	text := "state = \"" + filepath.Dir(config) + "/state\"\nwrapper = \"" + filepath.Dir(config) + "/jjm-wrapper\"\n" +
		"[[cluster]]\nname = \"here\"\nkind = \"slurm\"\nbin = \"" + t.TempDir() + "\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := run([]string{"clusters", "test", "here", "--config", config}, &out, &errs); code != exitNo {
		t.Fatalf("exit code %d\n%s", code, errs.String())
	}
	if n := strings.Count(out.String(), "FAILED"); n != 1 || strings.Count(out.String(), "remedy: ") != 1 ||
		!strings.Contains(out.String(), "No command of the batch system answers: ") ||
		!strings.Contains(out.String(), " checks not tried.") {
		t.Errorf("%d checks failed, want 1 and how many were not tried\n%s", n, out.String())
	}
}

func TestClustersTest_UsageErrors(t *testing.T) {
	config := site(t, "exit 0")
	for _, args := range [][]string{
		{"clusters", "test"},
		{"clusters", "test", "nowhere", "--config", config},
		{"clusters", "test", "here", "--patience", "-1s", "--config", config},
		{"clusters", "test", "here", "--nonsense"},
	} {
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != exitUsage || errs.Len() == 0 {
			t.Errorf("%q: exit code %d, %s", args, code, errs.String())
		}
	}
}

// If the cluster is not in the configuration, the error names the configuration that was read, and how to name another.
func TestClustersTest_AnUnknownClusterNamesTheConfiguration(t *testing.T) {
	config := site(t, "exit 0")
	for reason, args := range map[string][]string{
		"named on the command line": {"clusters", "test", "tiny", "--config", config},
		"$JJM_CONFIG":               {"clusters", "test", "tiny"},
	} {
		t.Setenv("JJM_CONFIG", config)
		var out, errs bytes.Buffer
		want := fmt.Sprintf("no cluster \"tiny\": %s (%s) has here: name the daemon's configuration with --config FILE\n",
			config, reason)
		if code := run(args, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("exit code %d: %s", code, errs.String())
		}
	}
}

func TestPrintable_NothingControlsTheTerminal(t *testing.T) {
	if got, want := printable("a\x1b[2J\tb\nü\x00\xff"), "a?[2J?b\nü?\uFFFD"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
