// Package identity_test holds the promises about identity against a real daemon
// that runs as root, with accounts that it makes and removes: who may see and
// end what, as whom jobs run, and that nobody reaches what is another's.
package identity_test

import (
	"os"
	"testing"

	"jjm/test/programs"
	"jjm/test/site"
)

var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

// house is a site whose walls are tried.
type house struct{ *site.Site }

func newHouse(t *testing.T, runAs, cluster string, admins ...site.Person) house {
	t.Helper()
	return house{site.New(t, &bin, site.Settings{RunAs: runAs, Clusters: cluster, Admins: admins})}
}
