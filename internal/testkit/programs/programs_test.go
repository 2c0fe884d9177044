package programs_test

import (
	"os"
	"path/filepath"
	"testing"

	"jjm/internal/testkit/programs"
)

var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

func TestPath_NamesProgramsThatRun(t *testing.T) {
	for _, name := range []string{"jjm", "jjm-daemon", "jjm-wrapper", "jjm-gatekeeper"} {
		path := bin.Path(t, name)
		if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 || !filepath.IsAbs(path) {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if out, err := bin.Command(t, "help").CombinedOutput(); err != nil || len(out) == 0 {
		t.Errorf("jjm help: %v\n%s", err, out)
	}
}

func TestDir_TakesTheFolderGiven(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("JJM_BIN", dir)
	for _, name := range []string{"jjm", "jjm-daemon", "jjm-wrapper", "jjm-gatekeeper"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var given programs.Programs
	if got := given.Dir(t); got != dir {
		t.Errorf("Dir() = %s, want %s", got, dir)
	}
}
