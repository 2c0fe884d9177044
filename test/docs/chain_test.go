package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDatasets_TheChainRuns runs the commands of the page about chains in a copy of the example's folder.
func TestDatasets_TheChainRuns(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "DATASETS.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "jjm-chain")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "etc", "examples", "chain"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "chain.sh"), 0o755); err != nil { // CopyFS adds only write bits
		t.Fatal(err)
	}
	env, _ := newcomers(t, dir)
	serve(t, dir, env)
	steps := strings.Split(block(t, string(page), "console")+block(t, string(page), "console again"), "$ ")[1:]
	if len(steps) < 12 {
		t.Fatalf("the page shows only %d commands", len(steps))
	}
	for _, step := range steps {
		line, want, _ := strings.Cut(step, "\n")
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		// The first file that local job 2.0 reads comes from the local job of the first step that ended first, which may be
		// any of them. Its number is therefore replaced by 0.
		out = regexp.MustCompile(`(in/|file )generate\.1\.[0-3]\.`).ReplaceAll(out, []byte("${1}generate.1.0."))
		if !shows(string(out), want) {
			t.Errorf("%s prints\n%s\nDATASETS.md shows\n%s", line, out, want)
		}
	}
	// The page says that a second submission of the same job file is refused, because its output dataset exists.
	for name, taken := range map[string]string{"generate": "chain.hits", "process": "chain.tracks"} {
		cmd := exec.Command("sh", "-c", "jjm submit "+name+".toml")
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "you have a dataset "+taken+" already") {
			t.Errorf("%s again: %v\n%s", name, err, out)
		}
	}
}
