package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/internal/await"
)

// run is one run of a tier.
type run struct {
	tier    tier
	dir     string // of this run's own files
	self    string // the path of this program
	machine machine
	began   time.Time
	before  cost
	load    *loadWatch
	env     []string
	all     []string // import paths of the packages with tests
	results *results
	failed  []string // steps that failed though none of their tests did
}

func newRun(t tier, dir string) (*run, error) {
	r := &run{tier: t, dir: dir, began: time.Now(), before: childrenCost(), results: newResults()}
	var err error
	if r.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if r.machine, err = measureMachine(); err != nil {
		return nil, err
	}
	if r.all, err = packagesWithTests(); err != nil {
		return nil, err
	}
	for _, sub := range []string{"bin", "tables"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	r.env = append(os.Environ(), "JJM_TIER="+t.env, costsVar+"="+r.file("costs"), "JJM_TABLES="+r.file("tables"),
		await.Slowness+"="+strconv.FormatFloat(r.machine.slowness(), 'f', 1, 64), "GOGC=400",
		"RAPID_CHECKS="+strconv.Itoa(t.checks))
	if t.alone {
		if err := r.copyPrograms(); err != nil {
			return nil, err
		}
		r.env = append(r.env, "JJM_BIN="+r.file("bin"))
	}
	r.load = watchLoad()
	return r, nil
}

func (r *run) file(name string) string { return filepath.Join(r.dir, name) }

// packagesWithTests returns the import paths of the module's packages that have tests.
func packagesWithTests() ([]string, error) {
	cmd := exec.Command("go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// copyPrograms copies the programs that "make build" made to where every account can run
// them.
func (r *run) copyPrograms() error {
	files, err := filepath.Glob("bin/jjm*")
	if err != nil || len(files) == 0 {
		return errors.Join(err, errors.New("there are no programs in bin: run \"make build\" first"))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.dir, file), text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// jobs returns how many packages run at a time, as a number for the command line.
func jobs() string {
	if n := os.Getenv("JJM_TEST_JOBS"); n != "" {
		return n
	}
	return "2"
}

// step runs one step and adds its events to the results.
func (r *run) step(s step) error {
	packages := s.choose(r.all)
	if len(s.command) == 0 && len(packages) == 0 {
		return fmt.Errorf("step %s has no packages", s.name)
	}
	fmt.Printf("\n== step %s\n", s.name)
	events := r.file(strings.ReplaceAll(s.name, " ", "-") + ".json")
	cmd := exec.Command("sh", r.argv(s, packages, events)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	systems := strings.Join(s.systems, " ")
	cmd.Env = append(slices.Clone(r.env), "JJM_SYSTEMS="+systems, "JJM_BEDS="+systems)
	if s.race {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	status, err := runReaping(cmd)
	if err != nil {
		return err
	}
	failures := r.results.failures()
	if text, err := os.ReadFile(events); err == nil {
		if err := r.results.read(bytes.NewReader(text)); err != nil {
			return err
		}
	} else if len(s.command) == 0 {
		return fmt.Errorf("step %s left no events: %w", s.name, err)
	}
	if status != 0 && len(r.results.failures()) == len(failures) {
		r.failed = append(r.failed, fmt.Sprintf("step %s: exit status %d", s.name, status))
	}
	return nil
}

// argv returns what sh runs: with.sh, which starts the systems, and behind it gotestsum.
func (r *run) argv(s step, packages []string, events string) []string {
	argv := []string{"scripts/testbed/with.sh"}
	if len(s.command) > 0 {
		return append(argv, s.command...)
	}
	argv = append(argv, "go", "tool", "gotestsum", "--format", "pkgname", "--hide-summary", "skipped,output",
		"--format-hide-empty-pkg", "--rerun-fails=2", "--rerun-fails-max-failures=20", "--rerun-fails-run-root-test",
		"--rerun-fails-abort-on-data-race", "--jsonfile", events, "--packages", strings.Join(packages, " "),
		"--", "-p", jobs(), "-parallel", "4", "-timeout", "60m", "-vet=off", "-exec", r.self+" "+packageVerb)
	if !r.tier.cached {
		argv = append(argv, "-count=1")
	}
	if s.race {
		argv = append(argv, "-race")
	}
	if s.run != "" {
		argv = append(argv, "-run", s.run)
	}
	return argv
}
