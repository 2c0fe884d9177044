package conformance

import "context"

// TB is what a check needs from its runner; *testing.T has all of it. Fatalf ends the
// goroutine of the check.
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
