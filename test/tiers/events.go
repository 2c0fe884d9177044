package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"jjm/internal/testkit/await"
)

// event is one line of "go test -json"; see "go doc test2json".
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64 // seconds
}

// name identifies a test or subtest of a package in a step. Several steps may run the same test, each on another batch
// system.
type name struct{ step, pkg, test string }

// root returns the test that a subtest belongs to.
func (n name) root() name {
	root, _, _ := strings.Cut(n.test, "/")
	return name{n.step, n.pkg, root}
}

// attempt is one run of a test.
type attempt struct {
	outcome string // pass, fail, skip; "" if the test did not end
	paused  bool   // the test waits for its turn among parallel tests
	elapsed time.Duration
	// output is the output of the test. A root test has the output of its subtests too.
	output strings.Builder
}

// results holds the events of one or more runs of "go test".
type results struct {
	tests map[name][]*attempt
	order []name // the tests, in the order of their first events
	// broken contains the failures outside of tests: builds, panics, exits. Its names have no test.
	broken map[name]string
	// loose is the output outside of tests. Its names have no test.
	loose map[name]*strings.Builder
	// served contains the packages by how their results came: false if they ran, true if go's cache had them.
	served map[name]bool
	// now contains the tests of the events that read has read last.
	now map[name]bool
}

func newResults() *results {
	return &results{tests: map[name][]*attempt{}, broken: map[name]string{}, loose: map[name]*strings.Builder{},
		served: map[name]bool{}}
}

// read adds the events of a step. It returns an error if a line is not an event.
func (r *results) read(step string, in io.Reader) error {
	lines := bufio.NewReader(in)
	r.now = map[name]bool{}
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if err := json.Unmarshal(line, &e); err != nil {
				return fmt.Errorf("line %d of the events: %w", n, err)
			}
			r.add(step, e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *results) add(step string, e event) {
	switch {
	case e.Action == "build-output":
		r.looseOutput(buildOf(step, e.ImportPath)).WriteString(e.Output)
	case e.Action == "build-fail":
		r.broken[buildOf(step, e.ImportPath)] = "it does not compile"
	case e.Test == "":
		r.addOfPackage(name{step: step, pkg: e.Package}, e)
	default:
		r.addOfTest(name{step, e.Package, e.Test}, e)
	}
}

// buildOf returns the package of a build: "jjm/store [jjm/store.test]" belongs to jjm/store.
func buildOf(step, importPath string) name {
	path, _, _ := strings.Cut(importPath, " ")
	return name{step: step, pkg: strings.TrimSuffix(path, "_test")}
}

func (r *results) looseOutput(of name) *strings.Builder {
	if r.loose[of] == nil {
		r.loose[of] = &strings.Builder{}
	}
	return r.loose[of]
}

// addOfPackage adds an event without a test. A package that fails although none of its tests failed has panicked,
// exited, or run into the time limit of go test.
func (r *results) addOfPackage(of name, e event) {
	switch e.Action {
	case "output":
		r.looseOutput(of).WriteString(e.Output)
		if strings.HasPrefix(e.Output, "ok ") {
			r.served[of] = strings.HasSuffix(e.Output, "\t(cached)\n")
		}
	case "fail":
		r.served[of] = false
		running, waiting, failed := r.unended(of)
		switch {
		case len(running)+len(waiting) > 0:
			r.broken[of] = diedIn(running, waiting)
		case !failed && r.broken[of] == "":
			r.broken[of] = "it failed outside of its tests"
		}
	}
}

// unended returns the root tests of a package that did not end in the last run: those that ran, and those that waited
// for their turn. It also reports whether a test failed.
func (r *results) unended(of name) (running, waiting []string, failed bool) {
	for _, n := range r.order { // a test that failed in an earlier run explains nothing
		if !r.now[n] || n.pkg != of.pkg || n.step != of.step || n.root() != n {
			continue
		}
		switch last := r.last(n); {
		case last.outcome == "fail":
			failed = true
		case last.outcome == "" && last.paused:
			waiting = append(waiting, n.test)
		case last.outcome == "":
			running = append(running, n.test)
		}
	}
	return running, waiting, failed
}

// diedIn returns the reason of a test program that ended before its tests did.
func diedIn(running, waiting []string) string {
	why := "it ended before its tests did"
	if len(running) > 0 {
		why = "it ended in the middle of " + strings.Join(running, ", ")
	}
	if len(waiting) > 0 {
		why += fmt.Sprintf(" (tests that still waited: %d)", len(waiting))
	}
	return why
}

// last returns the last attempt of a test.
func (r *results) last(n name) *attempt { return r.tests[n][len(r.tests[n])-1] }

// failedNow reports whether the events that read has read last have a failure, or a package of the step failed outside
// of its tests.
func (r *results) failedNow(step string) bool {
	for n := range r.now {
		if last := r.last(n); last.outcome == "fail" || last.outcome == "" {
			return true
		}
	}
	for n := range r.broken {
		if n.step == step {
			return true
		}
	}
	return false
}

func (r *results) addOfTest(n name, e event) {
	r.now[n] = true
	attempts := r.tests[n]
	if len(attempts) == 0 {
		r.order = append(r.order, n)
	}
	if len(attempts) == 0 || attempts[len(attempts)-1].outcome != "" {
		attempts = append(attempts, &attempt{})
		r.tests[n] = attempts
	}
	now := attempts[len(attempts)-1]
	switch e.Action {
	case "output":
		now.output.WriteString(e.Output)
		if root := n.root(); root != n {
			r.addOfTest(root, e)
		}
	case "pause":
		now.paused = true
	case "cont":
		now.paused = false
	case "pass", "fail", "skip":
		now.outcome, now.elapsed = e.Action, time.Duration(e.Elapsed*float64(time.Second))
	}
}

// neverAgain are texts that make a failure final, because a second run would prove nothing.
var neverAgain = []string{"WARNING: DATA RACE", "panic: ", await.Hung}

// final returns the reason why a failed attempt fails the run even if a later attempt passes.
func (a *attempt) final() string {
	for _, text := range neverAgain {
		if a.outcome == "fail" && strings.Contains(a.output.String(), text) {
			return text
		}
	}
	return ""
}
