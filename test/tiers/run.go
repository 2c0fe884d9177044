package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// run is one run of a tier.
type run struct {
	tier     tier
	dir      string // folder of this run's own files
	self     string // the path of this program
	goTool   string // the path of the go command
	machine  machine
	began    time.Time
	before   cost
	load     *loadWatch
	env      []string
	packages []string // import paths of the packages with tests
	reaper   *reaper
	jobs     int // how many test programs run at a time

	mu      sync.Mutex // guards the fields below, which all lanes change
	results *results
	failed  map[string]string // steps that failed although none of their tests failed, with the reason
	over    map[int]bool      // the lanes that have ended
	slots   int               // the lane that ended last; at the end of the run, this lane has all slots
	done    []stepTime

	notAgain string // the reason why no failed test ran again
}

// stepTime is how long a step took. Nobody measures the CPU time of a cached step's test programs.
type stepTime struct {
	step   string
	wall   time.Duration
	cached bool
}

func newRun(t tier, dir string) (*run, error) {
	r := &run{tier: t, dir: dir, began: time.Now(), before: childrenCost(), reaper: newReaper(),
		results: newResults(), failed: map[string]string{}, over: map[int]bool{}}
	var err error
	if r.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if r.goTool, err = goCommand(); err != nil {
		return nil, err
	}
	if r.machine, err = measureMachine(); err != nil {
		return nil, err
	}
	if r.jobs, err = jobs(r.machine, len(t.lanes)); err != nil {
		return nil, err
	}
	t.join(r.jobs)
	r.tier = t
	if err := makeSlots(r.file("slots"), len(t.lanes), r.jobs); err != nil {
		return nil, err
	}
	if r.packages, err = packagesWithTests(r.goTool); err != nil {
		return nil, err
	}
	if err := os.Mkdir(r.file("bin"), 0o755); err != nil {
		return nil, err
	}
	r.env = append(os.Environ(), "JJM_TIER="+t.env, await.Slowness+"="+strconv.Itoa(r.machine.slowness()), "GOGC=400",
		"RAPID_CHECKS="+strconv.Itoa(t.checks), needs.Machine+"="+fingerprint())
	if t.alone {
		if err := r.makePrograms(); err != nil {
			return nil, err
		}
		r.env = append(r.env, "JJM_BIN="+r.file("bin"))
	}
	r.load = watchLoad()
	return r, nil
}

// tablesDir is the folder of the tables that tests write for people, by step (JJM_TABLES).
const tablesDir = "tables"

func (r *run) file(name string) string { return filepath.Join(r.dir, name) }

// costsOf returns the path of the file to which the test programs of a step write what they cost.
func (r *run) costsOf(step string) string { return r.file("costs of " + step) }

// goCommand returns the path of the go command that runs this program. "go run" puts its own folder first in PATH, so
// this is also the go command that "make GO=..." names, or that its program starts if it is a script.
func goCommand() (string, error) { return exec.LookPath("go") }

// packagesWithTests returns the import paths of the module's packages that have tests.
func packagesWithTests(goTool string) ([]string, error) {
	cmd := exec.Command(goTool, "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// makePrograms builds the programs with the go command of this run, so that no programs of another commit are tested,
// and copies them to a folder in which every account can run them.
func (r *run) makePrograms() error {
	build := exec.Command("make", "-s", "build", "GO="+r.goTool)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("make build: %w", err)
	}
	files, err := filepath.Glob("bin/jjm*")
	if err != nil {
		return err
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

// jobs returns the number of test programs that run at a time: JJM_TEST_JOBS if it is set, otherwise two. On a quick
// machine it is one more than the number of lanes, because tests of real systems wait nearly all the time; the first
// lane, which waits least, gets the additional slot (see makeSlots).
func jobs(m machine, lanes int) (int, error) {
	text := os.Getenv("JJM_TEST_JOBS")
	switch {
	case text == "" && m.slowness() == 1:
		return lanes + 1, nil
	case text == "":
		return 2, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("JJM_TEST_JOBS is %q: want a number of packages, at least 1", text)
	}
	return n, nil
}

// threads returns the limit of threads (GOMAXPROCS) of a test program and of the programs that it starts, "" for none.
// If several lanes run at the same time, the programs share the cores, because a Go program with more threads than it
// has cores uses more CPU time. Campaigns and race have one lane, and show what needs true parallelism. A person can
// choose the limit by GOMAXPROCS.
func threads(m machine, jobs, lanes int) string {
	if text := os.Getenv(threadsVar); text != "" || lanes < 2 {
		return text
	}
	return strconv.Itoa(max(m.cores/jobs, 1))
}

// all runs the lanes, and then the failed tests again. It returns an error if a step could not run.
func (r *run) all() error {
	errs := make([]error, len(r.tier.lanes))
	var lanes sync.WaitGroup
	for i, lane := range r.tier.lanes {
		lanes.Go(func() {
			runtime.LockOSThread() // see reaper.run
			for _, s := range lane {
				if errs[i] == nil {
					errs[i] = r.step(s, i, "")
				}
			}
			errs[i] = errors.Join(errs[i], r.laneIsOver(i))
		})
	}
	lanes.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return r.again()
}

// laneIsOver passes the slots of a finished lane to the first lane that still runs. The last lane keeps its slots.
func (r *run) laneIsOver(lane int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over[lane], r.slots = true, lane
	for to := range r.tier.lanes {
		if !r.over[to] {
			return giveSlots(r.file("slots"), lane, to)
		}
	}
	return nil
}

// mostAgain is the maximum number of failures after which the failed tests run again. If more tests fail, they have a
// common cause.
const mostAgain = 20

// whyNotAgain returns the reason why no failed test runs again, or "" if the failed tests run again. steps is the
// number of steps that failed although none of their tests failed.
func whyNotAgain(failures, steps int) string {
	switch {
	case steps > 0:
		return "a step failed outside of its tests"
	case failures > mostAgain:
		return fmt.Sprintf("there are %d failures, and at most %d run again", failures, mostAgain)
	}
	return ""
}

// again runs each failed test again, one after the other, at most twice. No other test runs meanwhile.
func (r *run) again() error {
	for try := 2; try <= 3; try++ {
		failures := len(r.results.failures())
		if why := whyNotAgain(failures, len(r.failed)); why != "" {
			if try == 2 {
				r.notAgain = why
			}
			return nil
		}
		for _, s := range slices.Concat(r.tier.lanes...) {
			for _, n := range r.results.again(s.name) {
				if err := r.step(s.only(n), r.slots, fmt.Sprintf(", try %d: %s", try, n.test)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cachedSlowness is the least slowness of a cached step. Results of tests that read the slowness stay in the cache only
// while it is the same, and a quick machine that is busy for a moment seems slower. Only hang guards depend on it.
const cachedSlowness = 4

// step runs one step and adds its events to the results. try is part of its heading.
func (r *run) step(s step, lane int, try string) error {
	packages := s.choose(r.packages)
	if len(packages) == 0 {
		return fmt.Errorf("step %s has no packages", s.name)
	}
	fmt.Printf("\n== step %s%s\n", s.name, try)
	f, err := os.CreateTemp(r.dir, "*.json")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	argv := r.argv(s, lane, packages, f.Name())
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	systems := strings.Join(s.systems, " ")
	tables := filepath.Join(r.file(tablesDir), s.name)
	if err := os.MkdirAll(tables, 0o755); err != nil {
		return err
	}
	cmd.Env = append(slices.Clone(r.env), "JJM_SYSTEMS="+systems, "JJM_BEDS="+systems, "JJM_TABLES="+tables,
		slotsVar+"="+slotsOf(r.file("slots"), lane), costsVar+"="+r.costsOf(s.name))
	if !s.cached {
		cmd.Env = append(cmd.Env, threadsVar+"=1", ownThreadsVar+"="+threads(r.machine, r.jobs, len(r.tier.lanes)))
	} else {
		cmd.Env = append(cmd.Env, await.Slowness+"="+strconv.Itoa(max(r.machine.slowness(), cachedSlowness)))
	}
	if s.race { // the race detector needs each path of the code, not many cases of it
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1", "JJM_TIER=test", "RAPID_CHECKS="+strconv.Itoa(fewChecks))
	}
	began := time.Now()
	status, err := r.reaper.run(cmd)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if try == "" {
		r.done = append(r.done, stepTime{s.name, time.Since(began), s.cached})
	}
	if err := r.results.read(s.name, f); err != nil {
		return fmt.Errorf("step %s: %w", s.name, err)
	}
	if status != 0 && !r.results.failedNow(s.name) {
		r.failed[s.name] = fmt.Sprintf("exit status %d, and no test failed", status)
	}
	return nil
}

// argv returns the command of a step: with.sh, which starts the systems, followed by gotestsum. Cached steps run
// without with.sh, because with.sh makes a new folder for temporary files each time and cached results depend on that
// folder. -w leaves debug information out: linking a test program then takes 1.9 s of CPU instead of 3.1 s.
func (r *run) argv(s step, lane int, packages []string, events string) []string {
	var argv []string
	if !s.cached {
		argv = append(argv, "sh", withScript)
	}
	argv = append(argv, r.goTool, "tool", "gotestsum", "--format", "pkgname", "--hide-summary", "all",
		"--format-hide-empty-pkg", "--jsonfile", events, "--packages", strings.Join(packages, " "),
		"--", "-p", strconv.Itoa(r.jobsOf(s, lane)), "-parallel", "4", "-timeout", "60m", "-vet=off", "-ldflags=-w")
	if !s.cached || s.again {
		argv = append(argv, "-count=1")
	}
	if !s.cached { // go test caches no results of test programs that run through -exec
		argv = append(argv, "-exec", r.self+" "+packageVerb)
	}
	if s.race {
		argv = append(argv, "-race")
	}
	if s.run != "" {
		argv = append(argv, "-run", s.run)
	}
	return argv
}

// jobsOf returns the number of packages on which go test works at a time. It is one more than the slots of the lane if
// other lanes still run: one package is compiled while the others run. It is one for steps with real systems, which
// have few packages. The programs of a cached step do not wait for slots, so it works on the packages for which the
// other lanes leave room, but on one at least.
func (r *run) jobsOf(s step, lane int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	lanes := len(r.tier.lanes)
	others := lanes - len(r.over) - 1
	switch {
	case others <= 0:
		return r.jobs
	case s.cached:
		return max(1, r.jobs-others)
	case len(s.systems) > 0:
		return 1
	}
	return slotsOfLane(lane, lanes, r.jobs) + 1
}
