// Package programs provides tests with the real jjm, jjm-daemon, jjm-wrapper and jjm-gatekeeper in one folder, and
// waits for the effects of these programs. JJM_BIN names a folder that already has the programs. Without JJM_BIN, the
// programs are built once per test program, when a test first needs them:
//
//	var bin programs.Programs
//
//	func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }
package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"jjm/internal/testkit/needs"
)

// Programs is the folder with the programs of one test program. The zero value is ready; all methods may be called
// from many goroutines.
type Programs struct {
	once sync.Once
	dir  string
	made string // a folder that will be removed
	err  error
}

// Main runs the tests, removes the programs that were built, and returns the exit code.
func (p *Programs) Main(m *testing.M) int {
	defer func() { _ = os.RemoveAll(p.made) }()
	return m.Run()
}

// Dir returns the folder's absolute path. Accounts without privileges can reach the folder if they can reach JJM_BIN,
// or the folder for temporary files.
func (p *Programs) Dir(t testing.TB) string {
	t.Helper()
	needs.EndToEnd(t)
	p.once.Do(p.find)
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.dir
}

// Path returns the path of one of the programs.
func (p *Programs) Path(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(p.Dir(t), name)
}

func (p *Programs) find() {
	if dir := os.Getenv("JJM_BIN"); dir != "" {
		p.dir, p.err = filepath.Abs(dir)
		for _, name := range []string{"jjm", "jjm-daemon", "jjm-wrapper", "jjm-gatekeeper"} {
			if _, err := os.Stat(filepath.Join(p.dir, name)); p.err == nil && err != nil {
				p.err = fmt.Errorf("JJM_BIN: %w: build the programs there, or unset it", err)
			}
		}
		return
	}
	if p.made, p.err = os.MkdirTemp("", "jjm-bin"); p.err != nil {
		return
	}
	if p.err = os.Chmod(p.made, 0o755); p.err != nil {
		return
	}
	p.dir = p.made
	build := exec.Command("go", "build", "-trimpath", "-o", p.made+"/", "jjm/cmd/jjm", "jjm/cmd/jjm-daemon",
		"jjm/cmd/jjm-wrapper", "jjm/cmd/jjm-gatekeeper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		p.err = fmt.Errorf("build the programs: %w\n%s", err, out)
	}
}
