// Package house_test checks the sources against the rules of the project: which package may import which, how large a
// room may be, that nothing is skipped silently, that each decision has its test, and that the lists in the documents
// are true.
package house_test

import (
	"os"
	"testing"
)

// TestMain runs the tests in the root folder of the module.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	m.Run()
}
