package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unused are the functions that no program of jjm reaches, and why they are there:
// by the file, below the root, and the name.
func unused() map[string]string {
	const (
		forTests = "tests of several packages use it"
		resplit  = "comes with the operations on masters and subjobs"
		recovery = "recovery is to cut what is lost by it"
		jedi     = "comes with tasks"
	)
	return map[string]string{
		"adapters/conformance/check.go ForTests":         forTests,
		"adapters/conformance/check.go Undeclared":       forTests,
		"adapters/conformance/faults.go WithoutCommands": forTests,
		"publish/advertise/classad.go Plain":             forTests + ": it reads back what Safe wrote",
		"wire/verb.go Verbs":                             forTests + ": each verb is tried",
		"wire/verb.go Head.head":                         "marks the types that have a Head",
		"split/recovery.go LostOf":                       recovery,
		"split/recovery.go narrowEvents":                 recovery,
		"split/jedi/bunches.go WorkSize":                 jedi,
		"split/resplit.go WorkOf":                        resplit,
		"split/resplit.go ownedLumis":                    resplit,
		"split/resplit.go ownedEvents":                   resplit,
		"split/resplit.go withSome":                      resplit,
		"split/resplit.go finer":                         resplit,
		"split/resplit.go Resplit":                       resplit,
	}
}

// TestDead_EveryFunctionIsReachedByAProgram holds what deadcode (Rapid Type Analysis
// from the programs' main functions) calls unreachable against the list, both ways.
func TestDead_EveryFunctionIsReachedByAProgram(t *testing.T) {
	cmd := exec.Command("go", "tool", "golang.org/x/tools/cmd/deadcode", "./cmd/...")
	cmd.Stderr = os.Stderr // the tests run at the root
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
