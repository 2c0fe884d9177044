// Package survival_test proves with real processes that nothing is lost, doubled or left behind when the daemon is
// killed.
//
// Each test has a separate site: a state folder, a daemon with the embedded batch system, and an application that
// writes a ledger of its runs outside of jjm. The test kills daemons, at every named failpoint and at random times,
// starts new daemons, and waits for the end of the grid job. Then [site.verify] compares all sources about the grid
// job: the daemon's answers, the store, the claims, the journal, the record, the tar, and the ledger.
//
// "make test-faults" runs the whole campaign.
package survival_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/programs"
)

// bin builds jjm's programs, and has their paths.
var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

// ownSites and bedSites limit how many sites run at the same time, because the machine may be small. There may be more
// sites on test beds, because they mostly wait.
var (
	ownSites = make(chan struct{}, 3)
	bedSites = make(chan struct{}, 6)
)

// whole reports whether the whole campaign was requested.
func whole() bool { return needs.InCampaign(needs.Faults) }

// repository returns the folder of the module.
func repository(t *testing.T) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		dir, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}
