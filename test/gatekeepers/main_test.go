// Package gatekeepers_test runs jjm behind real gatekeepers, Globus GRAM5 and ARC. It does what users and
// administrators do and what may happen: jobs succeed, fail and are killed; daemons restart; gatekeepers are killed at
// any moment; disks are full.
//
// GRAM is tested in three tiers: the script that its job manager runs, a personal gatekeeper of an ordinary account,
// and the gatekeeper of a site. The gatekeepers come from scripts/testbed, each in a separate network namespace. Tests
// that cannot run are skipped with a message; if CI=true, they fail.
package gatekeepers_test

import (
	"os"
	"sync"
	"testing"
	"time"

	awaits "jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/programs"
)

// The deadlines are generous: a passing test never waits for a deadline.
var patience = awaits.Guard(8 * time.Minute)

const (
	pollEvery = 300 * time.Millisecond
)

// bin has the paths of jjm's programs.
var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

// await waits until ok returns true.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	awaitEvery(t, pollEvery, what, ok)
}

// awaitEvery is await for a condition that is expensive to check: it pauses longer between two checks.
func awaitEvery(t testing.TB, every time.Duration, what string, ok func() bool) {
	t.Helper()
	programs.Await(t, patience, every, what, ok)
}

// write writes a file with the given mode, whatever the umask is.
func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// chosen returns all scenarios in the campaign of gatekeepers, and otherwise only the scenarios with the given names.
func chosen[T any](scenarios map[string]func(*testing.T, T), names ...string) map[string]func(*testing.T, T) {
	if needs.InCampaign(needs.Gatekeepers) {
		return scenarios
	}
	few := map[string]func(*testing.T, T){}
	for _, name := range names {
		few[name] = scenarios[name]
	}
	return few
}

// together runs all subtests at the same time. The subtests mostly wait, and t.Parallel would run only as many of them
// as there are processors.
func together[T any](t *testing.T, with T, scenarios map[string]func(*testing.T, T)) {
	t.Helper()
	var all sync.WaitGroup
	for name, scenario := range scenarios {
		all.Go(func() { t.Run(name, func(t *testing.T) { scenario(t, with) }) })
	}
	all.Wait()
}
