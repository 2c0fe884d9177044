// Package house_test checks the sources against the rules of the project: which package may import which other package,
// how large a room may be, that no test is skipped silently, that each decision has its test, and that the lists in the
// documents are true.
package house_test

import (
	"testing"
)

// inTree makes the root of the tree the working directory of a test, so that the test names files by their paths in the
// tree. A change of the directory in TestMain does not work: go test notes which files a test reads, but not such a
// change, and took stale results from its cache.
func inTree(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}
