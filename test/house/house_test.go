// Package house_test holds the sources against the rules of the house: which package may
// import which, how large a room may be, that nothing is skipped in silence, that each
// decision has its test, and that the lists that people read are true.
package house_test

import (
	"os"
	"testing"
)

// TestMain has the tests run where the house begins.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	m.Run()
}
