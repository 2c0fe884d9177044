package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
)

// place is a call by which a test declares that it belongs to a campaign.
type place struct {
	pkg, test, campaign string // test is "" in a helper of tests
}

// places returns the calls of needs.Campaign in the module's tests.
func places(t *testing.T, root string) (all []place) {
	t.Helper()
	campaigns := map[string]string{"Faults": needs.Faults, "Hostile": needs.Hostile, "Gatekeepers": needs.Gatekeepers,
		"Systems": needs.Systems, "Operations": needs.Operations, "Lint": needs.Lint}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal/testkit/needs") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			test := ""
			if strings.HasPrefix(f.Name.Name, "Test") {
				test = f.Name.Name
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if campaign := campaignOf(n); campaign != "" {
					all = append(all, place{module + "/" + filepath.ToSlash(folder), test, campaigns[campaign]})
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// campaignOf returns X if n is the call needs.Campaign(t, needs.X).
func campaignOf(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return ""
	}
	f, ok1 := call.Fun.(*ast.SelectorExpr)
	arg, ok2 := call.Args[1].(*ast.SelectorExpr)
	if !ok1 || !ok2 || f.Sel.Name != "Campaign" {
		return ""
	}
	return arg.Sel.Name
}

// runs reports whether one of the tier's steps runs the test.
func (t tier) runs(all []string, pkg, test string) bool {
	return slices.ContainsFunc(slices.Concat(t.lanes...), func(s step) bool {
		return slices.Contains(s.choose(all), pkg) &&
			(test == "" || s.run == "" || regexp.MustCompile(s.run).MatchString(test))
	})
}

func TestTiers_ACampaignRunsEachTestThatIsLeftToIt(t *testing.T) {
	all := places(t, "../..")
	t.Chdir("../..")
	packages, err := packagesWithTests("go")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("%d tests are left to campaigns: the test does not see them", len(all))
	}
	for _, p := range all {
		if !tiers()[p.campaign].runs(packages, p.pkg, p.test) {
			t.Errorf("%s %s is left to the campaign %s, and no step of it runs the test", p.pkg, p.test, p.campaign)
		}
	}
}

// ofEachKind lists tests about attacks of one account on another account, and about the work of operators on a site.
// Each test runs in make test, perhaps in a short form, and in the campaign of the hostile tests.
var ofEachKind = map[string][]string{
	"another account's jobs, bans and orders": {"test/identity TestVerbs_AnAccountIsToldNothingOfAnother",
		"internal/engine/answer TestShows_WhatIsTheSitesAndTheAccountsOwn", "internal/engine TestClusters_NameAnAccountItsOwnMissingJobsAlone"},
	"folders in which others write": {"test/hostile TestDrop_AFullDiskStopsNobodyElse",
		"test/hostile TestDrop_AnAccountIsBoundedAndReadsNothingOfOthers",
		"internal/app TestFolderNotes_TellAdministratorsWhoFilledTheDisk"},
	"programs that others could replace": {"internal/app TestExamine_RefusesWhatOthersCouldReplace",
		"internal/sys/rights TestHeld_NobodyElseCanPutSomethingInItsPlace"},
	"a store that is lost, older, or another one": {"test/daemon TestAdopt_EachRowOfTheTableIsTried",
		"test/daemon TestStore_TwoStatesOnOneWorkArea", "test/daemon TestLost_IsNoticedAndHealed",
		"internal/engine TestMend_LostRecordsAreMadeAgain"},
	"the umask": {"test/identity TestUmask_AFirstStartLetsInWhomTheConfigurationMeans"},
	"claims, work areas, containers and what root runs": {"cmd/jjm-daemon TestRun_WarnsRootOfFilesOfOthers",
		"sandbox TestReadClaim_HostileFilesCountAsHeld",
		"test/daemon TestUnmounted_AWorkAreaIsToldAndFailsNothing",
		"internal/engine TestContainer_FiveThousandDatasetsMakeFiveParts"},
}

func TestTiers_WhatOneAccountDoesToAnotherIsTriedInBoth(t *testing.T) {
	t.Chdir("../..")
	packages, err := packagesWithTests("go")
	if err != nil {
		t.Fatal(err)
	}
	for kind, tests := range ofEachKind {
		for _, one := range tests {
			folder, test, _ := strings.Cut(one, " ")
			for _, name := range []string{"test", needs.Hostile} {
				if !tiers()[name].runs(packages, module+"/"+folder, test) {
					t.Errorf("%s: no step of %s runs %s", kind, name, one)
				}
			}
			if !declares(t, folder, test) {
				t.Errorf("%s: there is no %s", kind, one)
			}
		}
	}
}

// declares reports whether a test is in a folder and is not left to a campaign.
func declares(t *testing.T, folder, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Name.Name != test {
				continue
			}
			short := true
			for _, stmt := range f.Body.List { // at the top of the test, not in a subtest
				if e, ok := stmt.(*ast.ExprStmt); ok && campaignOf(e.X) != "" {
					short = false
				}
			}
			return short
		}
	}
	return false
}
