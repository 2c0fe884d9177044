package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/formats/glf"
)

// docs/JOB-TYPES.md lists the keywords of the log file that the code knows. With JJM_UPDATE=1 the test rewrites the
// list.
func TestJobTypes_KeywordsAreThoseOfTheCode(t *testing.T) {
	const from, to = "-run Keywords -->\n", "<!-- end -->"
	file := filepath.Join(root, "docs", "JOB-TYPES.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(page), from)
	table, after, ok2 := strings.Cut(rest, to)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the keywords", file)
	}
	want := keywordTable()
	if table == want {
		return
	}
	if os.Getenv("JJM_UPDATE") == "" {
		t.Fatalf("the keywords in %s are not the code's: run this test with JJM_UPDATE=1", file)
	}
	if err := os.WriteFile(file, []byte(before+from+want+to+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func keywordTable() string {
	text := "| keyword | words behind it | what becomes of the local job | example |\n|---|---|---|---|\n"
	for _, w := range glf.Words() {
		text += fmt.Sprintf("| %s | %s | %s | `\"$GBS_LOG\" %s %s` |\n", w.Keyword, w.Data, w.Effect, w.Keyword, w.Example)
	}
	return text
}

// The page's example of a job that reports by its log runs in the foreground with the results that the page shows.
func TestJobTypes_TheJobWithKeywordsRuns(t *testing.T) {
	page := pages(t)["docs/JOB-TYPES.md"]
	dir := t.TempDir()
	for name, lang := range map[string]string{"fit.toml": "toml reports", "fit.sh": "sh fit.sh"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(block(t, page, lang)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []struct{ n, code, says, file string }{
		{"0", "0", "part 0 ended with exit code 0", "work/fit.txt"},
		{"2", "1", "application says FAILED: there is no fit for 3", "job.glf"},
	} {
		cmd := exec.Command("sh", "-c", "jjm run fit.toml --part "+part.n+"; echo code $?")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+bin.Dir(t)+":"+os.Getenv("PATH"), "JJM_CONFIG=")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), part.says) || !strings.Contains(string(out), "code "+part.code+"\n") {
			t.Errorf("part %s: %v\n%s", part.n, err, out)
		}
		// The page says that the files are in this folder.
		path := filepath.Join(dir, "part-"+part.n, "area/jobs/1/0xxx", part.n, "attempt.0", part.file)
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
