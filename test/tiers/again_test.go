package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// fakeGo is a go command that notes its arguments and lets each test pass.
const fakeGo = `#!/bin/sh
echo "$*" >>"$CALLS"
while [ $# -gt 0 ]; do
	case $1 in --jsonfile) events=$2 ;; --packages) package=$2 ;; -run) run=$2 ;; esac
	shift
done
test=${run#^}
printf '{"Action":"pass","Package":"%s","Test":"%s"}\n' "$package" "${test%?}" >"$events"
`

// failedRun returns a run whose only step is over, with these failed tests ("jjm/p TestA"), and the file in which the
// go command notes its arguments.
func failedRun(t *testing.T, tests ...string) (r *run, calls string) {
	t.Helper()
	runtime.LockOSThread() // see reaper.run
	t.Cleanup(runtime.UnlockOSThread)
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(fakeGo), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CALLS", calls)
	var events []string
	for _, test := range tests {
		pkg, test, _ := strings.Cut(test, " ")
		events = append(events, fmt.Sprintf(`{"Action":"fail","Package":"%s","Test":"%s"}`, pkg, test))
	}
	s := step{name: "s", packages: []string{"./..."}, cached: true}
	r = &run{goTool: filepath.Join(dir, "go"), tier: tier{lanes: [][]step{{s}}}, dir: dir, reaper: newReaper(),
		results: play(t, events...), env: os.Environ(), failed: map[string]string{}, load: watchLoad(),
		packages: []string{"jjm/p", "jjm/q"}}
	return r, calls
}

func TestAgain_EachFailedTestRunsAlone(t *testing.T) {
	r, calls := failedRun(t, "jjm/p TestA", "jjm/p TestB", "jjm/q TestA")
	if err := r.again(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	for line := range strings.Lines(string(text)) {
		call := regexp.MustCompile(`--packages (.*) -- .* -count=1 .*-run (\S+)$`).FindStringSubmatch(strings.TrimSpace(line))
		if call == nil {
			t.Fatalf("a failed test runs again as: go %s", line)
		}
		ran = append(ran, call[1]+" "+call[2])
	}
	if got := strings.Join(ran, ", "); got != "jjm/p ^TestA$, jjm/p ^TestB$, jjm/q ^TestA$" {
		t.Errorf("these run again: %s", got)
	}
	if report, ok := r.report(); !ok || strings.Contains(report, "RAN AGAIN") {
		t.Errorf("green %v, the report is\n%s", ok, report)
	}
}

func TestAgain_NothingRunsAgainAfterManyFailures(t *testing.T) {
	var tests []string
	for n := range 21 {
		tests = append(tests, fmt.Sprintf("jjm/p Test%d", n))
	}
	r, calls := failedRun(t, tests...)
	if err := r.again(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(calls); !os.IsNotExist(err) {
		t.Errorf("these run again: %s%v", text, err)
	}
	const want = "\nNO FAILED TEST RAN AGAIN: there are 21 failures, and at most 20 run again\n"
	if report, ok := r.report(); ok || !strings.Contains(report, want) {
		t.Errorf("green %v, the report is\n%s", ok, report)
	}
}

// The failure of another test does not explain why a package fails in which the failed test passes now.
func TestAgain_APackageThatFailsOutsideOfTheTestStaysRed(t *testing.T) {
	r := play(t, `{"Action":"fail","Package":"p","Test":"TestA"}`, `{"Action":"fail","Package":"p","Test":"TestB"}`,
		`{"Action":"fail","Package":"p"}`)
	for _, events := range []string{
		`{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`,
		`{"Action":"pass","Package":"p","Test":"TestB"}` + "\n" + `{"Action":"pass","Package":"p"}`,
	} {
		if err := r.read("s", strings.NewReader(events)); err != nil {
			t.Fatal(err)
		}
	}
	if red := r.failures(); len(red) != 1 || red[name{step: "s", pkg: "p"}] != "it failed outside of its tests" {
		t.Errorf("red: %v", red)
	}
}
