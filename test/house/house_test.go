// Package house_test checks the sources against the rules of the project: which package may import which, how large a
// room may be, that nothing is skipped silently, that each decision has its test, and that the lists in the documents
// are true.
package house_test

import (
	"testing"
)

// inTree makes the root of the tree the working directory of a test, so that the test names files as people do. go test
// notes which files a test reads, but not a change of the directory in TestMain: there, it took stale results from its
// cache.
func inTree(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}
