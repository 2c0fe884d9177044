package needs

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A run of the tests has a tier, which JJM_TIER names: "unit", "test", or one or more campaigns. A campaign is a set of
// long tests with a common purpose. If the variable is unset, the tier is "test". The program test/tiers sets both
// variables for each step of a run; CONTRIBUTING.md explains them.
const (
	tierVar    = "JJM_TIER"
	systemsVar = "JJM_SYSTEMS"

	// Whole is the value of JJM_TIER that stands for all campaigns.
	Whole = "campaign"

	unit = "unit"
)

// These are the campaigns. The Makefile has a target for each of them: see [Target].
const (
	Faults      = "faults"
	Hostile     = "hostile"
	Gatekeepers = "gatekeepers"
	Systems     = "systems"
	Operations  = "operations"

	// Lint has the tests that compile or analyse the whole tree: "make lint".
	Lint = "lint"
)

// These texts begin the message of a test that leaves its work to another run. The program test/tiers reads them.
const (
	LeftToTarget = "LEFT TO make "
	LeftToStep   = "LEFT TO THE STEP OF "
)

// Target returns the target of the Makefile that runs a campaign.
func Target(campaign string) string {
	if campaign == Lint {
		return Lint
	}
	return "test-" + campaign
}

// InCampaign reports whether this run includes the campaign. A test that has a short form uses the result to choose its
// size.
func InCampaign(name string) bool { return includes(os.Getenv(tierVar), name) }

// Campaign skips a test that runs in a campaign only.
func Campaign(t testing.TB, name string) {
	t.Helper()
	if !InCampaign(name) {
		t.Skip(LeftToTarget + Target(name))
	}
}

// EndToEnd is for tests that start jjm's programs, other accounts' processes or a batch system. It skips the test in
// the tier "unit".
func EndToEnd(t testing.TB) {
	t.Helper()
	if os.Getenv(tierVar) == unit {
		t.Skip(LeftToTarget + "test")
	}
}

// System is for tests that use a batch system or gatekeeper. It skips the test if this step does not start that system.
// JJM_SYSTEMS names the systems that the step starts, separated by blanks; unset means all.
func System(t testing.TB, name string) {
	t.Helper()
	EndToEnd(t)
	if systems, set := os.LookupEnv(systemsVar); set && !slices.Contains(strings.Fields(systems), name) {
		t.Skip(LeftToStep + name)
	}
}

// NoSystem is for tests without a real batch system. It skips the test in test steps that belong to a batch system; a
// separate step runs such tests.
func NoSystem(t testing.TB) {
	t.Helper()
	if os.Getenv(systemsVar) != "" && os.Getenv(tierVar) != "" {
		t.Skip(LeftToStep + "no system")
	}
}

func includes(tiers, name string) bool {
	all := strings.FieldsFunc(tiers, func(r rune) bool { return r == ' ' || r == ',' })
	return slices.Contains(all, name) || slices.Contains(all, Whole)
}
