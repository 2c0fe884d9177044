package docs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jjm/gatekeeper/arc"
)

// gatekeepers returns the section of docs/GATEKEEPERS.md under a heading.
func gatekeepers(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/GATEKEEPERS.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/GATEKEEPERS.md has no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// tableNames returns the names in the first cells of a section's tables.
func tableNames(section, pattern string) map[string]bool {
	names := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\|([^|]*)\|`).FindAllStringSubmatch(section, -1) {
		for _, m := range regexp.MustCompile("`("+pattern+")`").FindAllStringSubmatch(row[1], -1) {
			names[m[1]] = true
		}
	}
	return names
}

// sourceNames returns the names that a pattern's group finds in a file of the
// source tree.
func sourceNames(t *testing.T, file, pattern string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		names[m[1]] = true
	}
	if len(names) < 5 {
		t.Fatalf("%s has only %v: the test does not see it", file, slices.Sorted(maps.Keys(names)))
	}
	return names
}

func sameNames(t *testing.T, known, documented map[string]bool) {
	t.Helper()
	if !maps.Equal(known, documented) {
		t.Errorf("the code knows %v, documented are %v", slices.Sorted(maps.Keys(known)),
			slices.Sorted(maps.Keys(documented)))
	}
}

// The attributes of RSL that are documented are those that GRAM lets pass.
func TestGatekeepers_GRAMAttributes(t *testing.T) {
	section := gatekeepers(t, "Globus GRAM5")
	documented := tableNames(section, `jjm_\w+`)
	documented["jjm_stdout"] = strings.Contains(section, "(jjm_stdout=tar)")
	sameNames(t, sourceNames(t, "scripts/gram/jjm.rvf", `(?m)^Attribute: (jjm_\w+)$`), documented)
}

// The variables that are documented for ARC are known, each of them, and others
// are refused.
func TestGatekeepers_ARCVariables(t *testing.T) {
	documented := tableNames(gatekeepers(t, "ARC"), `JJM_\w+`)
	if len(documented) < 8 {
		t.Fatalf("documented are %v", documented)
	}
	documented["JJM_NOSUCH"] = true
	for name := range documented {
		text := "joboption_gridid='x'\njoboption_directory='/d'\njoboption_controldir='/c'\njoboption_env_0='" + name +
			"=1'\n"
		if name != "JJM_JOB_FILE" && name != "JJM_TYPE" {
			text += "joboption_env_1='JJM_TYPE=script'\n"
		}
		grami, err := arc.ParseGrami(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = arc.Read(grami)
		if refused := err != nil && strings.Contains(err.Error(), name+": unknown"); refused != (name == "JJM_NOSUCH") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each requirement of HTCondor's jobs that is documented is one of the code's, and
// the other way round.
func TestGatekeepers_Requirements(t *testing.T) {
	known := sourceNames(t, "gatekeeper/blahp/translate.go", `(?m)^\treq\w+\s*= "(jjm_\w+)"`)
	sameNames(t, known, tableNames(gatekeepers(t, "HTCondor and HTCondor-CE"), `jjm_\w+`))
}
