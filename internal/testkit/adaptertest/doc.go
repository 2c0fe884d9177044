// Package adaptertest tests adapters, and provides a simulated batch system to test the
// layers above them.
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
// [ShareListings] makes checks that run at the same time share the listings of a batch system.
//
// [Sim] is a simulated batch system on a clock of the test's own. It can be made to lose,
// refuse and delay requests and to give wrong listings. It can play the wrapper, and counts
// the runs of every attempt.
package adaptertest
