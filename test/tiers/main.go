package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"jjm/internal/testkit/needs"
)

func main() {
	runtime.LockOSThread() // see reaper.run
	if len(os.Args) > 2 && os.Args[1] == packageVerb {
		os.Exit(measurePackage(os.Args[2:]))
	}
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage())
		os.Exit(2)
	}
	ok, err := runTier(os.Args[1], os.Args[2:])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "tiers:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// usage returns the help: each tier with its steps.
func usage() string {
	var b strings.Builder
	b.WriteString("usage: go run ./test/tiers TIER [STEP...]\n\nThe tiers and their steps:\n")
	for _, name := range tierNames() {
		fmt.Fprintf(&b, "\n%s\n", name)
		for _, s := range slices.Concat(tiers()[name].lanes...) {
			fmt.Fprintf(&b, "    %s\n", s.name)
		}
	}
	fmt.Fprintf(&b, "\nThe tier %s runs every test of the other tiers, in full size. It does not run\n%s.\n",
		needs.Whole, strings.Join(notInCampaign, ", "))
	return b.String()
}

// notInCampaign are the commands that check or measure jjm and are not part of "make campaign".
var notInCampaign = []string{"make bench", "make fuzz", "make test-settings", "go tool staticcheck"}

// runTier runs the steps of a tier one after the other, or only the named steps, and prints the report. It returns
// false if a test failed.
func runTier(name string, only []string) (bool, error) {
	t, known := tiers()[name]
	if !known {
		return false, fmt.Errorf("there is no tier %q; the tiers are %s", name, strings.Join(tierNames(), ", "))
	}
	if err := t.keep(only); err != nil {
		return false, err
	}
	if err := adoptOrphans(); err != nil {
		return false, err
	}
	if t.alone {
		unlock, err := lockMachine(lockFile, os.Stdout)
		if err != nil {
			return false, err
		}
		defer unlock()
		if err := forgetFiles(); err != nil {
			return false, err
		}
	}
	dir, err := os.MkdirTemp("", "jjm-tiers-")
	if err != nil {
		return false, err
	}
	// Accounts without rights run the programs in this folder.
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil {
		return false, err
	}
	r, err := newRun(t, dir)
	if err != nil {
		return false, err
	}
	fmt.Println(r.machine)
	if err := r.all(); err != nil {
		return false, err
	}
	report, ok := r.report()
	tables, err := readTables(r.file(tablesDir))
	fmt.Print(tables, report)
	return ok, err
}

// withScript is the script that runs a step's command with its batch systems and a folder for temporary files.
const withScript = "scripts/testbed/with.sh"

// forgetFiles removes the files that the failed steps of earlier runs have kept.
func forgetFiles() error {
	cmd := exec.Command("sh", withScript)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("remove the files of failed runs: %s: %w", withScript, err)
	}
	return nil
}

// readTables returns the tables that tests have written for people, one after the other.
func readTables(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "\n%s", text)
	}
	return all.String(), nil
}
