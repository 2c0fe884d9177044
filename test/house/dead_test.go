package house_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
)

// unused returns the functions that no program of jjm reaches, with the reason why they exist. A key consists of the
// path of the file below the root and the name of the function.
func unused() map[string]string {
	const (
		forTests = "tests of several packages use it"
		jedi     = "comes with tasks"
	)
	return map[string]string{
		"adapters/conformance/check.go ForTests":         forTests,
		"adapters/conformance/check.go Undeclared":       forTests,
		"adapters/conformance/faults.go WithoutCommands": forTests,
		"internal/publish/advertise/classad.go Plain":    forTests + ": it reads back what Safe wrote",
		"internal/policy/why/grid.go GridCodes":          forTests + ": docs/WORDS.md has each code",
		"internal/policy/why/record.go RecordCodes":      forTests + ": docs/WORDS.md has each code",
		"internal/policy/why/why.go Codes":               forTests + ": docs/WORDS.md has each code",
		"internal/api/wire/verb.go Head.head":            "marks the types that have a Head",
		"internal/work/split/jedi/bunches.go WorkSize":   jedi,
	}
}

// TestDead_EveryFunctionIsReachedByAProgram requires that the list contains exactly the functions that no program
// reaches, according to the tool deadcode (Rapid Type Analysis, beginning at the main functions).
func TestDead_EveryFunctionIsReachedByAProgram(t *testing.T) {
	inTree(t)
	needs.Campaign(t, needs.Lint)
	cmd := exec.Command("go", "tool", "golang.org/x/tools/cmd/deadcode", "./cmd/...")
	cmd.Stderr = os.Stderr // the working folder is the root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go tool deadcode: %v", err)
	}
	left := unused()
	for line := range strings.Lines(string(out)) {
		at, name, ok := strings.Cut(strings.TrimSpace(line), ": unreachable func: ")
		if !ok {
			t.Fatalf("deadcode says %q", line)
		}
		file, _, _ := strings.Cut(at, ":")
		key := filepath.ToSlash(file) + " " + name
		if _, known := left[key]; !known {
			t.Errorf("%s: no program reaches %s: remove it, give it a caller, or list it here with a reason", at, name)
		}
		delete(left, key)
	}
	for key := range left {
		t.Errorf("%s is listed as unused and is not: take it off the list", key)
	}
}
