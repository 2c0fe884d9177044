// Package docs_test runs the commands of README.md and of the pages in docs, with the real programs, and checks the
// names on these pages.
package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/programs"
)

const root = "../.."

var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// block returns the first fenced block of a language in a text.
func block(t *testing.T, text, lang string) string {
	t.Helper()
	m := regexp.MustCompile("(?s)```" + lang + "\n(.*?)```").FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("README.md has no block of %s", lang)
	}
	return m[1]
}

// TestReadme_QuickTourRuns runs the tour: every command must succeed, and print every shown line; "..." stands for any
// text.
func TestReadme_QuickTourRuns(t *testing.T) {
	text := readme(t)
	dir, err := os.MkdirTemp("", "jjm-tour")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "hello.toml"), []byte(block(t, text, "toml")), 0o600); err != nil {
		t.Fatal(err)
	}
	env, state := newcomers(t, dir)
	serve(t, dir, env)
	for _, step := range strings.Split(block(t, text, "console"), "$ ")[1:] {
		line, want, _ := strings.Cut(step, "\n")
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		if !strings.HasPrefix(line, "jjm cat ") {
			programs.Heard(t, strings.TrimPrefix(line, "jjm "), out)
		}
		if !shows(string(out), want) {
			t.Errorf("%s prints\n%s\nREADME.md shows\n%s", line, out, want)
		}
	}
	inState, err := os.ReadDir(state)
	if err != nil || len(inState) < 10 {
		t.Errorf("the state folder has %d entries: %v", len(inState), err)
	}
	for _, entry := range inState {
		if !regexp.MustCompile("(?m)^\\| (STATE|WORK)[^|]*`" + regexp.QuoteMeta(entry.Name()) + "[`/]").MatchString(text) {
			t.Errorf("README.md does not say what %s in the state folder is", entry.Name())
		}
	}
}

// README.md, the help of jjm and the help of the daemon name the possible places of the state, in the order of the
// code.
func TestReadme_StateIsWhereTheHelpSays(t *testing.T) {
	places := []string{"$JJM_STATE", "/var/lib/jjm", "$XDG_STATE_HOME/jjm", "~/.local/state/jjm"}
	_, table, _ := strings.Cut(readme(t), "\n### Where the state is\n")
	said := map[string]string{"README.md": table}
	for _, args := range []string{"--help", "serve --help"} {
		cmd := exec.Command(bin.Path(t, "jjm"), strings.Fields(args)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		said["jjm "+args] = strings.Join(strings.Fields(string(out)), " ")
	}
	for what, text := range said {
		for i, place := range places {
			at := strings.Index(text, place)
			if at < 0 {
				t.Errorf("%s does not name %s behind %s", what, place, places[:i])
				break
			}
			text = text[at+len(place):]
		}
	}
}

// blanks matches the blanks between two columns of a table. Their number depends on the account that runs the test.
var blanks = regexp.MustCompile(`  +`)

// shows reports whether the printed text matches the text that a page shows. "..." in the page stands for any text, and
// several blanks stand for any number of blanks.
func shows(got, want string) bool {
	got, want = blanks.ReplaceAllString(got, "  "), blanks.ReplaceAllString(want, "  ")
	pattern := regexp.QuoteMeta(want)
	pattern = strings.ReplaceAll(pattern, `\.\.\.`, `(?s:.*)`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(got)
}

func TestShows_WouldFindADifference(t *testing.T) {
	if shows("1 done DONE\n", "1 failed ...\n") || !shows("1 done x\ny\n", "1 done ...\n") {
		t.Error("shows is blind")
	}
}

// serve starts the daemon and stops it at the end of the test.
func serve(t *testing.T, dir string, env []string) {
	t.Helper()
	var path string
	for _, e := range env {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			path = strings.SplitN(p, ":", 2)[0]
		}
	}
	jjm := filepath.Join(path, "jjm")
	log, err := os.Create(filepath.Join(dir, "daemon.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	daemon := exec.Command(jjm, "serve")
	daemon.Env, daemon.Stderr = env, log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		if err := daemon.Wait(); err != nil {
			t.Errorf("the daemon did not stop cleanly: %v", err)
		}
	})
	ctx := await.Context(t, 4*time.Minute)
	for {
		cmd := exec.CommandContext(ctx, jjm, "clusters")
		cmd.Env = env
		if cmd.Run() == nil {
			return
		}
		if ctx.Err() != nil {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("the daemon does not answer; its log:\n%s", text)
		}
	}
}

// pages returns the text of each page of docs/.
func pages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil || len(paths) < 15 {
		t.Fatalf("docs/ has the pages %q, %v", paths, err)
	}
	pages := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages["docs/"+filepath.Base(path)] = string(text)
	}
	return pages
}

// Pages that use the words of docs/WORDS.md link to that page.
func TestPages_LinkTheWords(t *testing.T) {
	for _, name := range []string{"JOB-FILES", "JOB-TYPES", "DATASETS", "RECORDS", "SERVICE", "GATEKEEPERS"} {
		if !strings.Contains(pages(t)["docs/"+name+".md"], "(WORDS.md") {
			t.Errorf("docs/%s.md does not link WORDS.md", name)
		}
	}
}

func TestReadme_LinksEveryPage(t *testing.T) {
	text := readme(t)
	for name := range pages(t) {
		if !strings.Contains(text, "("+name+")") {
			t.Errorf("README.md does not link %s", name)
		}
	}
}

// Each table of a page has a head row and a line of dashes, because without them its rows are rendered as plain text.
func TestPages_TablesAreWhole(t *testing.T) {
	table := regexp.MustCompile(`(?m)(?:^\|.*\n)+`)
	for name, text := range pages(t) {
		for _, rows := range table.FindAllString(text, -1) {
			if lines := strings.Split(rows, "\n"); !regexp.MustCompile(`^\|[ :|-]+\|$`).MatchString(lines[1]) {
				t.Errorf("%s: these rows have no head:\n%s", name, rows)
			}
		}
	}
}

// TestReadme_NamesWhatExists checks that the target of every relative link and every make target exists.
func TestReadme_NamesWhatExists(t *testing.T) {
	text := readme(t)
	for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("README.md links to %s: %v", m[1], err)
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("make ([a-z-]+)").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(string(makefile), "\n"+m[1]+":") {
			t.Errorf("README.md names make %s, which the Makefile lacks", m[1])
		}
	}
}
