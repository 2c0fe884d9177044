// Package adaptertest tests adapters, and what is built on them.
//
// [Run] runs the suite of package conformance, which every adapter must pass.
// An adapter's test costs it a few lines:
//
//	func TestConformance(t *testing.T) {
//		adaptertest.Run(t, func(t *testing.T) adaptertest.System {
//			return adaptertest.System{Adapter: ..., Owner: ..., Dir: t.TempDir()}
//		})
//	}
//
// [Together] spares a batch system the listings of checks that run at once.
//
// [Sim] is a simulated batch system on a clock of the test's own, which can be
// made to lose, refuse, delay and lie, for tests and benchmarks of the layers
// above. It can play the wrapper, and keeps count of every run of every
// attempt.
package adaptertest
