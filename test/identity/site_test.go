// Package identity_test tests the promises about identity: which accounts may see and end which jobs, as which account
// jobs run, and that no account can reach another account's data. It uses a real daemon that runs as root, and accounts
// that it creates and removes.
package identity_test

import (
	"os"
	"testing"

	"jjm/internal/testkit/programs"
	"jjm/internal/testkit/site"
)

var bin programs.Programs

func TestMain(m *testing.M) { os.Exit(bin.Main(m)) }

// house is a site whose daemon runs as root, with the checks of this package.
type house struct{ *site.Site }

func newHouse(t *testing.T, runAs, cluster string, admins ...site.Person) house {
	t.Helper()
	return house{site.New(t, &bin, site.Settings{RunAs: runAs, Clusters: cluster, Admins: admins})}
}
