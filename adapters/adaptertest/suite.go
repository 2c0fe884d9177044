package adaptertest

import (
	"testing"

	"jjm/adapters/conformance"
)

// System is a batch system under test.
type System = conformance.System

// TB is what the hooks of a System get; *testing.T is one.
type TB = conformance.TB

// Run checks an adapter against the contract in package adapters, with real
// jobs: one subtest for each check of package conformance. open makes the
// system anew for each subtest; it may give the same batch system again, as
// every job has a tag of its own.
func Run(t *testing.T, open func(t *testing.T) System) {
	conformance.Schedule(conformance.ForTests(), func(c conformance.Check) (parallel bool) {
		t.Run(c.Name, func(t *testing.T) {
			system := open(t)
			parallel = system.Parallel
			c.Run(t, system)
		})
		return parallel
	})
}
