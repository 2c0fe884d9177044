package conformance

import "context"

// TB has the methods that a check needs from its runner; *testing.T has all of them. Fatalf ends the goroutine of the
// check.
type TB interface {
	Name() string
	Helper()
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
	Cleanup(func())
	TempDir() string
}
