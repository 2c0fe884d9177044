// Package house_test checks the sources against the rules of the project: which package may import which other package,
// how large a package of the engine (a "room") may be, that no test is skipped without a message, that each decision
// has its test, and that the lists in the documents are correct.
package house_test

import (
	"testing"
)

// inTree changes the working directory of a test to the root of the tree, so that the test names files by their paths
// in the tree. TestMain cannot do this: go test records which files a test reads, but not such a change, and would use
// outdated results from its cache.
func inTree(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}
