// Package adaptertest tests adapters, and provides a simulated batch system to test the
// layers above them.
//
// [Run] runs the suite of package conformance, which every adapter must pass. An adapter's test needs only a few lines:
//
//	func TestConformance(t *testing.T) {
//		adaptertest.Run(t, func(t *testing.T) adaptertest.System {
//			return adaptertest.System{Adapter: ..., Owner: ..., Dir: t.TempDir()}
//		})
//	}
//
// [ShareListings] makes checks that run at the same time share the listings of a batch system.
//
// [Sim] is a simulated batch system with a clock that the test sets. A test can make it lose, refuse and delay requests
// and return wrong listings. It can imitate the wrapper, and counts the runs of every attempt.
package adaptertest
