// Package identity_test tests the promises about identity with a real daemon that runs as root, and with accounts that
// it creates and removes: who may see and end what, as which account jobs run, and that nobody can reach what belongs
// to another.
package identity_test

import (
	"os"
	"testing"

	"jjm/internal/testkit/programs"
	"jjm/internal/testkit/site"
)

var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

// house is a site with checks for these promises.
type house struct{ *site.Site }

func newHouse(t *testing.T, runAs, cluster string, admins ...site.Person) house {
	t.Helper()
	return house{site.New(t, &bin, site.Settings{RunAs: runAs, Clusters: cluster, Admins: admins})}
}
