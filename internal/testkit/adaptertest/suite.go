package adaptertest

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"jjm/adapters/conformance"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// System describes the batch system under test.
type System = conformance.System

// TB is the part of testing.TB that the functions of a System receive; *testing.T implements TB.
type TB = conformance.TB

// fewJobs is the largest number of jobs in a check of listings, except in the campaign of batch systems.
const fewJobs = 24

// Run checks an adapter against the contract in package adapters, with real jobs: one subtest for each check of package
// conformance. open returns the system for each subtest. It may return the same batch system each time, because every
// job has a tag of its own. At the end Run logs the checks that do not apply, with their reasons from [System].NotHere.
func Run(t *testing.T, open func(t *testing.T) System) { run(t, open, nil) }

// RunOnFake is Run for an imitation of a batch system. It runs the checks with faulty commands only in the campaign of
// batch systems.
func RunOnFake(t *testing.T, open func(t *testing.T) System) {
	run(t, open, conformance.WithoutCommands("the campaign has them"))
}

// run runs the suite. later maps the names of the checks that only the campaign runs to the reasons.
func run(t *testing.T, open func(t *testing.T) System, later map[string]string) {
	var mu sync.Mutex
	ran, left, problems := 0, map[string]string{}, []string(nil)
	conformance.Schedule(conformance.ForTests(), func(c conformance.Check) (parallel bool) {
		t.Run(c.Name, func(t *testing.T) {
			if later[c.Name] != "" {
				needs.Campaign(t, needs.Systems)
			}
			system := open(t)
			system.Patience = cmp.Or(system.Patience, await.Guard(4*time.Minute))
			if !needs.InCampaign(needs.Systems) {
				system.Jobs = min(cmp.Or(system.Jobs, fewJobs), fewJobs)
			}
			parallel = system.Parallel
			reason := c.Run(t, system)
			mu.Lock()
			defer mu.Unlock()
			problems = conformance.Undeclared(system.NotHere)
			if ran++; reason != "" {
				left[c.Name] = reason
			}
		})
		return parallel
	})
	for _, p := range problems {
		t.Error(p)
	}
	t.Logf("%d checks ran, %d do not apply here", ran-len(left), len(left))
	for _, name := range slices.Sorted(maps.Keys(left)) {
		t.Logf("not here: %s: %s", name, left[name])
	}
}

// WithoutCommands returns System.NotHere for adapters whose commands cannot be replaced by faulty commands. It lists
// the checks that need faulty commands, with the reason.
func WithoutCommands(reason string) map[string]string { return conformance.WithoutCommands(reason) }
