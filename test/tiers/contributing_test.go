package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
)

// goTest matches an example of a page that runs tests: the tier, the folder of the package, and the pattern of -run.
var goTest = regexp.MustCompile(`(?m)^ {4}(?:JJM_TIER=(\S+) )?go test (\S+)(?: -run (\S+))?`)

// goRunTiers matches an example of a page that runs some steps of a tier.
var goRunTiers = regexp.MustCompile(`go run\s+\./test/tiers ([a-z]+) ([a-z ]+)`)

// contributing returns the text of CONTRIBUTING.md. The working folder becomes the folder of the module.
func contributing(t *testing.T) string {
	t.Helper()
	t.Chdir("../..")
	page, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestContributing_EachExampleRunsATest(t *testing.T) {
	page := contributing(t)
	packages, err := packagesWithTests("go")
	if err != nil {
		t.Fatal(err)
	}
	examples := goTest.FindAllStringSubmatch(page, -1)
	if len(examples) == 0 || len(examples) < strings.Count(page, "go test ./") {
		t.Fatalf("%d examples of go test: the test does not see them", len(examples))
	}
	for _, example := range examples {
		tier, folder := example[1], strings.TrimPrefix(example[2], "./")
		selected, err := regexp.Compile(example[3])
		if err != nil {
			t.Errorf("%s: %v", example[0], err)
			continue
		}
		runs := func(test string) bool {
			_, known := tiers()[tier]
			return selected.MatchString(test) &&
				(tier == "" || known && tiers()[tier].runs(packages, module+"/"+folder, test))
		}
		if !slices.ContainsFunc(testsIn(t, folder), runs) {
			t.Errorf("%s: runs no test", strings.TrimSpace(example[0]))
		}
	}
}

func TestContributing_EachNamedStepIsThere(t *testing.T) {
	examples := goRunTiers.FindAllStringSubmatch(contributing(t), -1)
	if len(examples) == 0 {
		t.Fatal("the page has no example of a step: the test does not see it")
	}
	for _, example := range examples {
		one := tiers()[example[1]]
		if err := one.keep(strings.Fields(example[2])); err != nil {
			t.Errorf("%s: %v", example[0], err)
		}
	}
}

// covers reports whether a step runs all tests that another step runs in a package.
func (s step) covers(other step, all []string, pkg string) bool {
	for _, system := range other.systems {
		if !slices.Contains(s.systems, system) {
			return false
		}
	}
	return slices.Contains(s.choose(all), pkg) && (s.run == "" || s.run == other.run) && (s.race || !other.race) &&
		(len(s.systems) == 0) == (len(other.systems) == 0) // some tests run only without a batch system
}

func TestCampaign_RunsEveryTestOfTheOtherTiers(t *testing.T) {
	t.Chdir("../..")
	packages, err := packagesWithTests("go")
	if err != nil {
		t.Fatal(err)
	}
	whole := slices.Concat(tiers()[needs.Whole].lanes...)
	for _, name := range tierNames() {
		for _, s := range slices.Concat(tiers()[name].lanes...) {
			for _, pkg := range s.choose(packages) {
				if !slices.ContainsFunc(whole, func(c step) bool { return c.covers(s, packages, pkg) }) {
					t.Errorf("tier %s, step %s: the campaign does not run %s so", name, s.name, pkg)
				}
			}
		}
	}
}

// The help and the page name the same commands that are not part of the campaign.
func TestCampaign_SaysWhatItLacks(t *testing.T) {
	page := contributing(t)
	_, row, _ := strings.Cut(page, "\n| `make campaign` |")
	row, _, _ = strings.Cut(row, "\n")
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	help := usage()
	for _, command := range notInCampaign {
		if !strings.Contains(row, "`"+command+"`") || !strings.Contains(help, command) {
			t.Errorf("%s is not part of the campaign; the help is\n%s\nand the page says %s", command, help, row)
		}
		target, isTarget := strings.CutPrefix(command, "make ")
		if isTarget && !strings.Contains(string(makefile), "\n"+target+":") {
			t.Errorf("the Makefile has no target %s", target)
		}
	}
	for _, s := range slices.Concat(tiers()[needs.Whole].lanes...) {
		if !strings.Contains(help, "\n    "+s.name+"\n") {
			t.Errorf("the help does not name step %s:\n%s", s.name, help)
		}
	}
}

// testsIn returns the names of the tests in a folder.
func testsIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
