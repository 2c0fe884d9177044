package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// play returns the results of events, with one event per line.
func play(t *testing.T, lines ...string) *results {
	t.Helper()
	r := newResults()
	if err := r.read("s", strings.NewReader(strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResults_ATestThatPassesWhenRunAgainIsFlaky(t *testing.T) {
	r := play(t,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestA/sub","Output":"first failure\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestA/sub","Elapsed":1}`,
		`{"Action":"fail","Package":"p","Test":"TestA","Elapsed":1}`,
		`{"Action":"fail","Package":"p"}`,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"pass","Package":"p","Test":"TestA/sub","Elapsed":1}`,
		`{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1}`,
		`{"Action":"pass","Package":"p"}`)
	if red := r.failures(); len(red) > 0 {
		t.Errorf("red: %v", red)
	}
	if got := r.flaky(); len(got) != 1 || got[0] != (name{"s", "p", "TestA"}) {
		t.Errorf("flaky: %v", got)
	}
	if table := r.flakyTable(); !strings.Contains(table, "p TestA (step s): run 2 times\n    first failure\n") {
		t.Errorf("the table of flaky tests is:\n%s", table)
	}
}

// The report repeats the end of a failed test's output, and before it the lines in which the test says what is wrong,
// and the first lines about a sudden end of the test program.
func TestIndent_KeepsWhatATestSaysIsWrong(t *testing.T) {
	got := indent("=== RUN TestA\n    a_test.go:7: want 1\n" + strings.Repeat("log of a daemon\n", 60) +
		"--- FAIL: TestA (1s)\n")
	want := "    ... 1 line left out\n        a_test.go:7: want 1\n    ... 21 lines left out\n    log of a daemon\n"
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "    --- FAIL: TestA (1s)\n") {
		t.Errorf("got\n%s", got)
	}
	got = indent(strings.Repeat("log\n", 5) + "fatal error: all goroutines are asleep\n" +
		strings.Repeat("main.go:1\n", 500))
	want = "    ... 5 lines left out\n    fatal error: all goroutines are asleep\n    main.go:1\n"
	if !strings.HasPrefix(got, want) || strings.Count(got, "\n") > 2*outputLines+2 {
		t.Errorf("got\n%s", got)
	}
}

// When a test program ends before its tests, the tests that ran then are named and their outputs repeated. The tests
// that waited for their turn are counted, and none of them is a failure of its own.
func TestFailures_AProgramThatDies(t *testing.T) {
	event := func(action, test string) string {
		return `{"Action":"` + action + `","Package":"p","Test":"` + test + `"}`
	}
	r := play(t, event("run", "TestA"), event("pause", "TestA"), event("run", "TestB"), event("pause", "TestB"),
		event("run", "TestC"), event("pass", "TestC"), event("cont", "TestB"), event("run", "TestB/#07"),
		`{"Action":"output","Package":"p","Test":"TestB/#07","Output":"fatal error: stack overflow\n"}`,
		`{"Action":"output","Package":"p","Output":"FAIL\tp\t1.2s\n"}`, `{"Action":"fail","Package":"p"}`)
	red := r.failures()
	if why := red[name{step: "s", pkg: "p"}]; len(red) != 1 ||
		why != "it ended in the middle of TestB (tests that still waited: 1)" {
		t.Errorf("red is %v", red)
	}
	if table := r.failureTable(red); !strings.Contains(table, "    output of TestB:\n    fatal error: stack overflow\n") {
		t.Errorf("the table is:\n%s", table)
	}
	if passed, failed, skipped := r.counts(); passed != 1 || failed != 0 || skipped != 0 || len(r.again("s")) > 0 {
		t.Errorf("%d passed, %d failed, %d skipped, %v run again", passed, failed, skipped, r.again("s"))
	}
}

// The table of failures names each failed subtest with what it says, although passed subtests say more.
func TestFailures_NameTheFailedSubtests(t *testing.T) {
	r := play(t,
		`{"Action":"output","Package":"p","Test":"TestA/good","Output":"    a_test.go:1: all is well\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestA/good"}`,
		`{"Action":"output","Package":"p","Test":"TestA/bad","Output":"    a_test.go:2: want 1, got 2\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestA/bad"}`,
		`{"Action":"fail","Package":"p","Test":"TestA"}`)
	if table := r.failureTable(r.failures()); !strings.Contains(table, "    failed: bad: a_test.go:2: want 1, got 2\n") ||
		strings.Contains(table, "failed: good") {
		t.Errorf("the table is:\n%s", table)
	}
}

func TestResults_WhatFailsARun(t *testing.T) {
	const run, fail, pass, skip = `{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"fail","Package":"p","Test":"TestA"}`, `{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"skip","Package":"p","Test":"TestA"}`
	const subFails, subSkips = `{"Action":"fail","Package":"p","Test":"TestA/sub"}`,
		`{"Action":"skip","Package":"p","Test":"TestA/sub"}`
	output := func(text string) string {
		return `{"Action":"output","Package":"p","Test":"TestA","Output":"` + text + `\n"}`
	}
	for _, c := range []struct {
		name  string
		lines []string
		want  string // part of the reason; empty for a green run
	}{
		{"a test that passes", []string{run, pass}, ""},
		{"a test that fails three times", []string{run, fail, run, fail, run, fail}, "failed 3 times"},
		{"a test that passes the third time", []string{run, fail, run, fail, run, pass}, ""},
		{"a test that is skipped", []string{run, skip}, ""},
		{"a test that fails and is skipped when it runs again", []string{run, fail, run, skip},
			"failed once, and was skipped"},
		{"a test that fails, is skipped, and passes", []string{run, fail, run, skip, run, pass}, ""},
		{"a subtest that fails and is skipped when it runs again", []string{run, subFails, fail, run, subSkips, pass},
			"TestA/sub failed once, and was skipped"},
		{"a hang that passes later", []string{run, output("waited 4m0s, beyond its hang guard: rain"), fail, run, pass},
			"hang guard"},
		{"a data race that passes later", []string{run, output("WARNING: DATA RACE"), fail, run, pass}, "DATA RACE"},
		{"a panic", []string{run, output("panic: boom"), `{"Action":"fail","Package":"p"}`}, "in the middle of TestA"},
		{"an exit outside of tests", []string{run, pass, `{"Action":"fail","Package":"p"}`}, "outside of its tests"},
		{"a build", []string{`{"ImportPath":"p [p.test]","Action":"build-output","Output":"syntax error\n"}`,
			`{"ImportPath":"p [p.test]","Action":"build-fail"}`, `{"Action":"fail","Package":"p"}`}, "does not compile"},
	} {
		red := play(t, c.lines...).failures()
		why := ""
		for _, w := range red {
			why += w
		}
		if (c.want == "") != (len(red) == 0) || !strings.Contains(why, c.want) {
			t.Errorf("%s: red is %v, want %q", c.name, red, c.want)
		}
	}
}

// A failed test that is skipped when it runs again stands in the table FAILED, with the output of its failure.
func TestResults_ASkipHidesNoFailure(t *testing.T) {
	r := play(t,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"first failure\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"skipped now\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestA"}`)
	if table := r.failureTable(r.failures()); !strings.Contains(table, "p TestA (step s): failed once") ||
		!strings.Contains(table, "\n    first failure\n") {
		t.Errorf("the table of failures is:\n%s", table)
	}
	if passed, failed, skipped := r.counts(); passed != 0 || failed != 1 || skipped != 0 || len(r.flaky()) > 0 {
		t.Errorf("%d passed, %d failed, %d skipped, flaky %v", passed, failed, skipped, r.flaky())
	}
}

func TestResults_ALineThatIsNoEventIsNamed(t *testing.T) {
	err := newResults().read("s", strings.NewReader("{\"Action\":\"run\"}\nno event\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v", err)
	}
}

func TestResults_WhatWasLeftOut(t *testing.T) {
	skip := func(test, text string) []string {
		return []string{`{"Action":"output","Package":"p","Test":"` + test + `","Output":"    x.go:1: ` + text + `\n"}`,
			`{"Action":"skip","Package":"p","Test":"` + test + `"}`}
	}
	lines := slices.Concat(skip("TestA", "LEFT TO make test-faults"), skip("TestB", "LEFT TO THE STEP OF sge"),
		skip("TestC", "LEFT TO THE STEP OF slurm"), skip("TestD", "NOT TESTED: this needs root"))
	r := play(t, lines...)
	err := r.read("sge", strings.NewReader(`{"Action":"pass","Package":"p","Test":"TestB"}`))
	left := r.skipped()
	if err != nil || left.targets["test-faults"] != 1 || left.missing["this needs root"] != 1 || len(left.nowhere) != 1 ||
		left.nowhere[0] != "p TestC (slurm)" {
		t.Errorf("left out: %+v, %v", left, err)
	}
}

func TestResults_AStepDoesNotMakeUpForAnother(t *testing.T) {
	r := play(t, `{"Action":"fail","Package":"p","Test":"TestA"}`, `{"Action":"fail","Package":"p"}`)
	if err := r.read("other", strings.NewReader(`{"Action":"pass","Package":"p","Test":"TestA"}`)); err != nil {
		t.Fatal(err)
	}
	passed, failed, _ := r.counts()
	if red := r.failures(); len(red) != 1 || len(r.flaky()) != 0 || passed != 0 || failed != 1 {
		t.Errorf("red %v, flaky %v, %d passed, %d failed", red, r.flaky(), passed, failed)
	}
}

func TestResults_WhatRunsAgain(t *testing.T) {
	fail := func(test, output string) []string {
		return []string{`{"Action":"output","Package":"p","Test":"` + test + `","Output":"` + output + `"}`,
			`{"Action":"fail","Package":"p","Test":"` + test + `"}`}
	}
	r := play(t, slices.Concat(fail("TestA/sub", "wrong"), fail("TestA", "wrong"), fail("TestB", "wrong"),
		[]string{`{"Action":"pass","Package":"p","Test":"TestC"}`})...)
	if tests := r.again("s"); !slices.Equal(tests, []name{{"s", "p", "TestA"}, {"s", "p", "TestB"}}) {
		t.Errorf("%v run again", tests)
	}
	if r := play(t, slices.Concat(fail("TestA", "wrong"), fail("TestB", "WARNING: DATA RACE"))...); len(r.again("s")) > 0 {
		t.Errorf("%v run again beside a data race", r.again("s"))
	}
}

func TestTiers_EachPackageWithTestsIsInMakeTestAndMakeUnitOrEndToEnd(t *testing.T) {
	t.Chdir("../..")
	all, err := packagesWithTests("go")
	if err != nil || len(all) < 90 {
		t.Fatalf("%d packages, %v", len(all), err)
	}
	covers := func(tier string) []string {
		var paths []string
		for _, s := range slices.Concat(tiers()[tier].lanes...) {
			paths = append(paths, s.choose(all)...)
		}
		return paths
	}
	test, whole, unit := covers("test"), covers("campaign"), covers("unit")
	for _, path := range all {
		if !slices.Contains(whole, path) {
			t.Errorf("%s is in no step of make campaign", path)
		}
		if !slices.Contains(test, path) && path != module+"/internal/testkit/testbed" {
			t.Errorf("%s is in no step of make test", path)
		}
		end := slices.ContainsFunc(endToEnd, func(p string) bool { return matches(p, path) })
		if end == slices.Contains(unit, path) {
			t.Errorf("%s: end to end %v, in make unit %v", path, end, !end)
		}
	}
}

func TestTiers_EveryPatternMatchesAPackage(t *testing.T) {
	t.Chdir("../..")
	all, err := packagesWithTests("go")
	if err != nil {
		t.Fatal(err)
	}
	for name, tier := range tiers() {
		for _, s := range slices.Concat(tier.lanes...) {
			for _, pattern := range slices.Concat(s.packages, s.without) {
				if !slices.ContainsFunc(all, func(path string) bool { return matches(pattern, path) }) {
					t.Errorf("tier %s, step %s: no package with tests matches %s", name, s.name, pattern)
				}
			}
		}
	}
}

func TestCostly_SumsTheRunsOfAPackage(t *testing.T) {
	costs := map[string]cost{}
	sum := readCosts("1000000000 2000000000 500000000 /x/a\n1 1 1 /x/b\nno line\n0 1000000000 0 /x/a\n", costs)
	table := costly(costs)
	first, second := strings.Index(table, "/x/a"), strings.Index(table, "/x/b")
	if sum != (cost{1_000_000_001, 3_000_000_001, 500_000_001}) || !strings.Contains(table, "3.5 s") || first > second {
		t.Errorf("table:\n%s", table)
	}
}

// A cached step has no CPU figures. The report says so, and which of the step's packages ran.
func TestReport_SaysWhichStepIsNotCounted(t *testing.T) {
	ok := func(pkg, how string) []string {
		return []string{`{"Action":"output","Package":"` + pkg + `","Output":"ok  \t` + pkg + `\t` + how + `\n"}`,
			`{"Action":"pass","Package":"` + pkg + `","Elapsed":1}`}
	}
	r := &run{results: play(t, slices.Concat(ok("p", "(cached)"), ok("q", "1.2s"), ok("r", "(cached)"),
		[]string{`{"Action":"fail","Package":"x"}`})...), dir: t.TempDir(), load: watchLoad(),
		done: []stepTime{{step: "s", cached: true}, {step: "other"}}}
	report, _ := r.report()
	for _, want := range []string{" not counted  s\n", " 0.0 s  other\n",
		" skipped; failures outside of tests: 1\n",
		"not counted: step s: 2 of its packages ran, and go's cache had the results of 2\n"} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is missing in the report\n%s", want, report)
		}
	}
	if strings.Contains(report, "step other:") {
		t.Errorf("a counted step is said not to be counted:\n%s", report)
	}
}

func TestMachine_SlownessIsTheYardsticks(t *testing.T) {
	for wall, want := range map[time.Duration]int{
		100 * time.Microsecond: 1, 1500 * time.Microsecond: 4, 3500 * time.Microsecond: 4,
		8 * time.Millisecond: 10, time.Second: 20,
	} {
		if got := (machine{start: cost{Wall: wall}}).slowness(); got != want {
			t.Errorf("a start of %v: slowness %v, want %v", wall, got, want)
		}
	}
}

func TestRunReaping_CountsWhatOrphansUsed(t *testing.T) {
	for _, name := range []string{slotsVar, costsVar} { // this run's own
		t.Setenv(name, "")
	}
	if status := measurePackage([]string{"/bin/sh", "-c", "exit 3"}); status != 3 {
		t.Errorf("status %d", status)
	}
	if status := measurePackage([]string{"/bin/sh", "-c", "kill -9 $$"}); status != 128+9 {
		t.Errorf("status %d of a killed program", status)
	}
}

func TestReaper_TellsTheEndsOfCommandsThatRunAtTheSameTime(t *testing.T) {
	r := newReaper()
	var all sync.WaitGroup
	for want := range 20 {
		all.Go(func() {
			runtime.LockOSThread()
			// Each command also leaves an orphan.
			status, err := r.run(exec.Command("/bin/sh", "-c", "(true &) ; exit "+strconv.Itoa(want)))
			if err != nil || status != want {
				t.Errorf("status %d, %v; want %d", status, err, want)
			}
		})
	}
	all.Wait()
}

func TestKeep_LeavesTheNamedSteps(t *testing.T) {
	test := tiers()["test"]
	if err := test.keep([]string{"sge", "gateclient"}); err != nil || len(test.lanes) != 1 || len(test.lanes[0]) != 2 ||
		!test.partial {
		t.Errorf("%+v, %v", test, err)
	}
	if err := test.keep([]string{"lsf"}); err == nil || !strings.Contains(err.Error(), "the steps are sge, gateclient") {
		t.Errorf("error %v", err)
	}
}

func TestSlots_OnlySoManyRunAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "slots")
	if err := makeSlots(dir, 2, 2); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	now, most := 0, 0
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			f, err := takeSlot(slotsOf(dir, i%2))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(slotPause)
			mu.Lock()
			now--
			mu.Unlock()
			_ = f.Close()
		})
	}
	all.Wait()
	if most > 2 {
		t.Errorf("%d had a slot at the same time", most)
	}
	if _, err := takeSlot(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a folder that is not there has slots")
	}
}

// On a fast machine two real systems run simultaneously, otherwise one.
func TestJoin_ASlowMachineHasOneRealSystemAtATime(t *testing.T) {
	t.Setenv("JJM_TEST_JOBS", "")
	for start, want := range map[time.Duration]string{
		time.Millisecond:     "embedded | slurm gatekeepers unit | condor sge gateclient",
		2 * time.Millisecond: "embedded | slurm gatekeepers unit condor sge gateclient",
	} {
		n, err := jobs(machine{start: cost{Wall: start}}, len(tiers()["test"].lanes))
		if err != nil {
			t.Fatal(err)
		}
		test := tiers()["test"]
		test.join(n)
		var lanes []string
		up := map[string]int{}
		for i, lane := range test.lanes {
			var names []string
			for _, s := range lane {
				names = append(names, s.name)
				for _, system := range s.systems {
					if at, is := up[system]; is && at != i {
						t.Errorf("a process starts in %v: %s is in two lanes", start, system)
					}
					up[system] = i
				}
			}
			lanes = append(lanes, strings.Join(names, " "))
		}
		if got := strings.Join(lanes, " | "); got != want {
			t.Errorf("a process starts in %v: %s, want %s", start, got, want)
		}
	}
	one := tiers()["test"]
	if one.join(1); len(one.lanes) != 1 || len(one.lanes[0]) != 7 {
		t.Errorf("%+v", one.lanes)
	}
}

func TestSlots_ALaneThatIsOverPassesItsSlotsOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "slots")
	if err := makeSlots(dir, 2, 3); err != nil {
		t.Fatal(err)
	}
	held, err := takeSlot(slotsOf(dir, 1)) // a lane has separate slots
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	r := &run{tier: tier{lanes: make([][]step, 2)}, dir: filepath.Dir(dir), over: map[int]bool{}}
	if err := r.laneIsOver(0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f, err := takeSlot(slotsOf(dir, 1))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
	}
	if err := r.laneIsOver(1); err != nil || r.slots != 1 {
		t.Errorf("all slots are said to be of lane %d, error %v", r.slots, err)
	}
}

// A cached step works on as many packages at a time as the other lanes leave room for. A step with real systems does
// not compile one package while another one runs.
func TestJobsOf_DependsOnTheOtherLanes(t *testing.T) {
	r := &run{tier: tier{lanes: make([][]step, 3)}, jobs: 4, over: map[int]bool{}}
	first, second, real := r.jobsOf(step{}, 0), r.jobsOf(step{}, 1), r.jobsOf(step{systems: []string{"sge"}}, 1)
	if first != 3 || second != 2 || real != 1 {
		t.Errorf("%d and %d packages at a time, %d with a real system", first, second, real)
	}
	var got []int
	for lane := range 3 {
		got = append(got, r.jobsOf(step{cached: true}, lane))
		r.over[lane] = true
	}
	if !slices.Equal(got, []int{2, 3, 4}) {
		t.Errorf("%v packages at a time while 3, 2 and 1 lanes run", got)
	}
}

// A step runs the go command that runs this program, which "make GO=..." chooses.
func TestGoCommand_IsTheOneThatRunsTheTiers(t *testing.T) {
	path, err := goCommand()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "env", "GOVERSION").Output()
	if version := strings.TrimSpace(string(out)); err != nil || version != runtime.Version() {
		t.Errorf("%s is %s, %v; this test was built by %s", path, version, err, runtime.Version())
	}
	argv := (&run{goTool: "/opt/go/bin/go"}).argv(step{cached: true}, 0, []string{"p"}, "events")
	if argv[0] != "/opt/go/bin/go" {
		t.Errorf("a step runs %q", argv)
	}
}

// A run tests the programs of its own tree, even if an earlier build left other programs in bin. It builds them with
// its own go command, whatever GO the make command has that started the run.
func TestMakePrograms_TestsNoneOfAnotherCommit(t *testing.T) {
	tree, dir := t.TempDir(), t.TempDir()
	const makefile = "build:\n\techo of now, by $(GO) >bin/jjm\n"
	for name, text := range map[string]string{"bin/jjm": "of before", "Makefile": makefile} {
		path := filepath.Join(tree, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(tree)
	t.Setenv("MAKEFLAGS", " -- GO=/usr/bin/another-go")
	if err := (&run{dir: dir, goTool: "/opt/go/bin/go"}).makePrograms(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "bin/jjm"))
	if err != nil || string(text) != "of now, by /opt/go/bin/go\n" {
		t.Errorf("the run has programs %q, %v", text, err)
	}
}

// Programs of several lanes share the cores. Campaigns do not, and a person chooses by GOMAXPROCS.
func TestThreads_ProgramsOfSeveralLanesShareTheCores(t *testing.T) {
	for _, c := range []struct {
		set                string
		cores, jobs, lanes int
		want               string
	}{
		{"", 2, 4, 3, "1"},
		{"", 16, 4, 3, "4"},
		{"", 2, 2, 1, ""},
		{"7", 2, 4, 3, "7"},
	} {
		t.Setenv(threadsVar, c.set)
		if got := threads(machine{cores: c.cores}, c.jobs, c.lanes); got != c.want {
			t.Errorf("%+v: %q threads, want %q", c, got, c.want)
		}
	}
}
