package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"jjm/internal/testkit/needs"
)

// tier is a set of tests that one command runs, such as "make test".
type tier struct {
	// env is the value of JJM_TIER.
	env string
	// lanes are lists of steps. The lanes run at the same time; the steps of a lane run one after the other. All steps on
	// a batch system are in one lane. If fewer test programs than lanes may run at a time, the last lanes are joined (see
	// join).
	lanes [][]step
	// checks is the number of cases that each property test draws (RAPID_CHECKS).
	checks int
	// alone is set for tiers that use ports, accounts or batch systems of the machine.
	alone bool
	// partial is set if the run leaves steps out.
	partial bool
}

// step runs the tests of some packages.
type step struct {
	name string
	// packages are patterns as go list takes them; without are patterns of packages to leave out.
	packages, without []string
	// run selects tests by a regular expression; empty means all.
	run string
	// systems are the test beds that are up during the step: scripts/testbed/NAME.sh.
	systems []string
	// race runs the tests under the race detector.
	race bool
	// cached lets go test take results from its cache while a package and the machine stay the same.
	cached bool
	// again is set if the step runs a failed test again, which go test must not take from its cache.
	again bool
}

// only returns the step that runs one failed test of this step again.
func (s step) only(n name) step {
	s.packages, s.without = []string{"." + strings.TrimPrefix(n.pkg, module)}, nil
	s.run, s.again = "^"+n.test+"$", true
	return s
}

// fewChecks is the number of cases that each property test draws in tiers for which a person waits, and manyChecks the
// number in campaigns.
const (
	fewChecks  = 25
	manyChecks = 400
)

// endToEnd are the packages whose tests start jjm's programs, or run whole simulated sites. The tier "unit" leaves
// them out. The packages that compute most come first: they run while the tests of real systems wait. Then come
// test/survival and adapters/conformance, which wait most themselves, so that they do not run alone at the end.
var endToEnd = []string{
	"./internal/engine", "./test/daemon", "./test/survival", "./adapters/conformance", "./test/identity",
	"./test/hostile", "./test/operations",
	"./etc/examples/...", "./test/docs", "./test/gateclient", "./test/gatekeepers", "./test/advertise",
	"./test/bench/...", "./internal/testkit/testbed", "./cmd/jjm", "./cmd/jjm-daemon", "./cmd/jjm-wrapper",
	"./internal/testkit/fakepbs",
}

// racing are the packages that run under the race detector: the packages of the daemon.
var racing = []string{
	"./adapters", "./adapters/idealize", "./adapters/local", "./internal/sys/...", "./sandbox", "./internal/storage/...",
	"./internal/policy/plan", "./xmldb/...", "./internal/api/...", "./internal/publish/...", "./internal/gatekeeper/...",
	"./internal/engine/...", "./internal/app",
}

// onSystems selects the tests that use a batch system, in packages that have other tests too.
const onSystems = "^Test(Conformance|Installed_|Rest_AToken|Beds_|Faults)"

// ofOthers selects tests about attacks of one account on another account, and about the work of operators on a site.
// Their packages have other tests too. These tests have no shorter form, so make test and make test-hostile run the
// same tests.
const ofOthers = "^Test(Verbs|Shows|Clusters|Owners|Umask|Held|Examine|Reserve|FolderNotes|Adopt|Store|Lost|Mend|Drop|" +
	"Container|Unmounted|Run|ReadClaim)_"

// tiers returns all tiers by name.
func tiers() map[string]tier {
	var (
		unit = step{name: "unit", packages: []string{"./..."}, without: endToEnd, cached: true}

		// These steps run in make test: everything on the embedded batch system, and some tests on each real system.
		embedded = step{name: "embedded", packages: endToEnd,
			without: []string{"./test/gatekeepers", "./test/gateclient", "./internal/testkit/testbed"}}
		slurm = step{name: "slurm", systems: []string{"slurm"}, run: onSystems,
			packages: []string{"./adapters/slurm", "./test/survival"}}
		condor = step{name: "condor", systems: []string{"condor"}, run: onSystems,
			packages: []string{"./adapters/condor", "./test/survival"}}
		sge = step{name: "sge", systems: []string{"sge"}, run: onSystems,
			packages: []string{"./adapters/sge", "./test/survival"}}
		client      = step{name: "gateclient", systems: []string{"condor"}, packages: []string{"./test/gateclient"}}
		gatekeepers = step{name: "gatekeepers", systems: []string{"gram", "arc", "slurm"},
			packages: []string{"./test/gatekeepers"}}

		// Campaigns.
		faults = []step{
			{name: "faults", packages: []string{"./test/survival", "./internal/engine"}},
			{name: "alerts", packages: []string{"./test/daemon"}, run: "^TestAlerts_"},
			{name: "faults of systems", systems: []string{"slurm", "condor", "condor2", "sge"}, run: onSystems,
				packages: []string{"./test/survival"}},
		}
		operations = []step{
			{name: "operations", packages: []string{"./test/operations"}},
			{name: "operations on slurm", systems: []string{"slurm"}, run: onSystems,
				packages: []string{"./test/operations"}},
		}
		hostile = step{name: "hostile", systems: []string{"slurm", "condor", "sge", "arc"},
			packages: []string{"./test/hostile", "./internal/sys/asuser"}}
		others = step{name: "accounts and operators", run: ofOthers, packages: []string{"./test/identity", "./test/daemon",
			"./internal/sys/rights", "./internal/app", "./internal/engine", "./internal/engine/answer", "./sandbox",
			"./cmd/jjm-daemon"}}
		clientAll = step{name: "gateclient", systems: []string{"condor", "slurm"},
			packages: []string{"./test/gateclient"}}
		compared = step{name: "gatekeepers compared", systems: []string{"gram", "arc", "slurm"},
			packages: []string{"./test/bench/..."}}
		allOn = []step{
			{name: "slurm", systems: []string{"slurm"},
				packages: []string{"./adapters/slurm", "./adapters/command", "./test/bench/..."}},
			{name: "condor", systems: []string{"condor", "condor2"},
				packages: []string{"./adapters/condor", "./internal/publish/advertise/collector", "./test/advertise"}},
			{name: "sge", systems: []string{"sge"}, packages: []string{"./adapters/sge"}},
			{name: "adapters", packages: []string{"./adapters/all", "./adapters/pbs/...", "./adapters/conformance",
				"./adapters/command", "./test/docs", "./test/daemon", "./test/identity"}},
			{name: "systems", systems: []string{"slurm", "condor", "condor2", "sge"}, run: onSystems,
				packages: []string{"./test/survival", "./test/identity"}},
			{name: "pbs", run: onSystems, packages: []string{"./test/survival"}},
			{name: "beds", systems: []string{"slurm", "condor", "condor2", "sge", "gram", "arc"},
				packages: []string{"./internal/testkit/testbed"}},
		}
		race = step{name: "race", packages: racing, race: true}
		lint = step{name: "lint", packages: []string{"./test/house"}}
	)
	campaign := func(name string, steps ...step) tier {
		return tier{env: name, checks: manyChecks, alone: true, lanes: [][]step{steps}}
	}
	return map[string]tier{
		"unit": {env: "unit", checks: fewChecks, partial: true, lanes: [][]step{{unit}}},
		// Tests of real systems wait more than they work, so the step with most work runs beside them. A fourth lane would
		// make the machine busier, but not the run shorter.
		"test": {env: "test", checks: fewChecks, alone: true,
			lanes: [][]step{{embedded}, {slurm, gatekeepers, unit}, {condor, sge, client}}},
		needs.Faults:      campaign(needs.Faults, faults...),
		needs.Operations:  campaign(needs.Operations, operations...),
		needs.Hostile:     campaign(needs.Hostile, hostile, others),
		needs.Gatekeepers: campaign(needs.Gatekeepers, gatekeepers, clientAll, compared),
		needs.Systems:     campaign(needs.Systems, allOn...),
		needs.Lint:        {env: needs.Lint, checks: fewChecks, lanes: [][]step{{lint}}},
		"race":            {env: "test", checks: fewChecks, lanes: [][]step{{race}}},
		needs.Whole: campaign(needs.Whole,
			// The step "systems" contains the last step of faults, and "embedded" the step "alerts".
			slices.Concat([]step{unit, embedded}, faults[:1], operations,
				[]step{hostile, others, gatekeepers, clientAll, compared}, allOn, []step{race})...),
	}
}

// keep removes all steps except the named steps. If no steps are named, it keeps all steps.
func (t *tier) keep(names []string) error {
	if len(names) == 0 {
		return nil
	}
	var kept [][]step
	var known []string
	for _, lane := range t.lanes {
		for _, s := range lane {
			known = append(known, s.name)
		}
		lane = slices.DeleteFunc(slices.Clone(lane), func(s step) bool { return !slices.Contains(names, s.name) })
		if len(lane) > 0 {
			kept = append(kept, lane)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no step %q; the steps are %s", name, strings.Join(known, ", "))
		}
	}
	t.lanes, t.partial = kept, true
	return nil
}

// join combines the last lanes into one lane if there are more than n lanes.
func (t *tier) join(n int) {
	if n = max(n, 1); len(t.lanes) > n {
		t.lanes = append(slices.Clone(t.lanes[:n-1]), slices.Concat(t.lanes[n-1:]...))
	}
}

func tierNames() []string { return slices.Sorted(maps.Keys(tiers())) }

// module is the name of jjm's module, which patterns of packages begin with in events.
const module = "jjm"

// matches reports whether an import path matches a pattern of this table.
func matches(pattern, path string) bool {
	pattern = module + strings.TrimPrefix(pattern, ".")
	if parent, all := strings.CutSuffix(pattern, "/..."); all {
		return path == parent || strings.HasPrefix(path, parent+"/")
	}
	return path == pattern
}

// choose returns the import paths that the step runs, in the order of the step's patterns.
func (s step) choose(all []string) []string {
	var chosen []string
	for _, pattern := range s.packages {
		for _, path := range all {
			left := slices.ContainsFunc(s.without, func(pattern string) bool { return matches(pattern, path) })
			if matches(pattern, path) && !left && !slices.Contains(chosen, path) {
				chosen = append(chosen, path)
			}
		}
	}
	return chosen
}
