package main

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"jjm/internal/testkit/needs"
)

// tableRows is the number of rows in the tables of slow tests and costly packages.
const tableRows = 10

// outputLines is the number of lines of a failed test's output that the report repeats.
const outputLines = 40

// failures returns everything that makes a run fail, with the reason: root tests that failed and did not pass
// afterwards, root tests with a failure that a second run cannot clear, and packages that failed outside of their
// tests. A test that did not end because its program did is no failure of its own.
func (r *results) failures() map[name]string {
	red := maps.Clone(r.broken)
	for _, n := range r.order {
		if r.cutOff(n) {
			continue
		}
		if why := failure(r.tests[n]); why != "" && n.root() == n {
			red[n] = why
		}
	}
	for _, n := range r.order {
		attempts := r.tests[n]
		if n.root() != n && attempts[len(attempts)-1].outcome == "skip" && failure(attempts) != "" && red[n.root()] == "" {
			red[n.root()] = n.test + " " + failure(attempts)
		}
	}
	return red
}

// cutOff reports whether a test has not ended because its test program ended first.
func (r *results) cutOff(n name) bool {
	return r.last(n).outcome == "" && r.broken[name{step: n.step, pkg: n.pkg}] != ""
}

// failure returns the reason why the attempts of a test make a run fail, or "" if they do not. A skip clears no earlier
// failure, because a skipped test proves nothing.
func failure(attempts []*attempt) string {
	failed, open, skipped := 0, false, false
	for _, a := range attempts {
		if text := a.final(); text != "" {
			return "one of its runs had: " + text
		}
		switch a.outcome {
		case "fail", "":
			failed, open, skipped = failed+1, true, false
		case "pass":
			open = false
		case "skip":
			skipped = true
		}
	}
	switch {
	case !open:
		return ""
	case skipped:
		return "failed " + times(failed) + ", and was skipped when it ran again"
	}
	return "failed " + times(failed)
}

// lastFailure returns the last attempt that failed, or nil if no attempt failed.
func lastFailure(attempts []*attempt) *attempt {
	for _, a := range slices.Backward(attempts) {
		if a.outcome == "fail" || a.outcome == "" {
			return a
		}
	}
	return nil
}

// again returns the failed root tests of a step that may run again. If one of the failures is final, it returns none.
func (r *results) again(step string) []name {
	var tests []name
	red := r.failures()
	for n := range red {
		if n.step == step && n.test == "" {
			return nil
		}
	}
	for _, n := range r.order {
		if n.step != step || red[n] == "" {
			continue
		}
		if last := lastFailure(r.tests[n]); last != nil && (last.final() != "" || last.outcome == "") {
			return nil
		}
		tests = append(tests, n)
	}
	return tests
}

func (n name) String() string { return fmt.Sprintf("%s %s (step %s)", n.pkg, n.test, n.step) }

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// flaky returns the root tests that failed first and passed when they ran again.
func (r *results) flaky() []name {
	red := r.failures()
	return slices.DeleteFunc(slices.Clone(r.order), func(n name) bool {
		return n.root() != n || red[n] != "" || lastFailure(r.tests[n]) == nil
	})
}

// leftOut holds the tests that this run left out.
type leftOut struct {
	// targets counts tests by the target of the Makefile that runs them.
	targets map[string]int
	// missing counts tests by the reason why they did not run on this machine.
	missing map[string]int
	// nowhere contains the tests that were left to another step of this run, although no step ran them.
	nowhere []string
}

// skipped returns the tests that no step ran, grouped by the reason that they printed.
func (r *results) skipped() leftOut {
	left := leftOut{targets: map[string]int{}, missing: map[string]int{}}
	ran, seen := map[name]bool{}, map[name]bool{}
	for n, attempts := range r.tests {
		if slices.ContainsFunc(attempts, func(a *attempt) bool { return a.outcome != "skip" }) {
			ran[name{pkg: n.pkg, test: n.test}] = true
		}
	}
	for _, n := range r.order {
		of := name{pkg: n.pkg, test: n.test}
		if ran[of] || seen[of] {
			continue
		}
		seen[of] = true
		switch text := r.reasons(of); {
		case strings.Contains(text, needs.LeftToTarget):
			left.targets[restOfLine(text, needs.LeftToTarget)]++
		case strings.Contains(text, "NOT TESTED"):
			left.missing[restOfLine(text, "NOT TESTED: ")]++
		case strings.Contains(text, needs.LeftToStep):
			left.nowhere = append(left.nowhere, of.pkg+" "+of.test+" ("+restOfLine(text, needs.LeftToStep)+")")
		default:
			left.missing["no reason given"]++
		}
	}
	return left
}

// reasons returns the output of a test in all steps.
func (r *results) reasons(of name) string {
	var all strings.Builder
	for _, n := range r.order {
		if n.pkg == of.pkg && n.test == of.test {
			for _, a := range r.tests[n] {
				all.WriteString(a.output.String())
			}
		}
	}
	return all.String()
}

// restOfLine returns the rest of the line on which words first occurs, or "no reason given" if they do not occur.
func restOfLine(text, words string) string {
	_, rest, found := strings.Cut(text, words)
	if !found {
		return "no reason given"
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// report returns the report of a run, and whether the run succeeded.
func (r *run) report() (string, bool) {
	var b strings.Builder
	red, left := r.results.failures(), r.results.skipped()
	if r.tier.partial { // the tests may be left to steps that this run leaves out
		left.nowhere = nil
	}
	for step, why := range r.failed {
		red[name{step: step}] = why
	}
	b.WriteString(slowest(r.results))
	byPackage := map[string]cost{}
	fmt.Fprintf(&b, "\nsteps            wall   CPU of test programs\n")
	for _, d := range r.done {
		cpu := "not counted"
		if !d.cached {
			lines, _ := os.ReadFile(r.costsOf(d.step)) // a step without test programs has no such file
			cpu = fmt.Sprintf("%8.1f s", readCosts(string(lines), byPackage).cpu().Seconds())
		}
		fmt.Fprintf(&b, "%16.1f s %s  %s\n", d.wall.Seconds(), cpu, d.step)
	}
	b.WriteString(costly(byPackage))
	for _, d := range r.done {
		if d.cached {
			b.WriteString(r.results.notCounted(d.step))
		}
	}
	b.WriteString(left.String())
	b.WriteString(r.results.flakyTable())
	b.WriteString(r.results.failureTable(red))
	if r.notAgain != "" {
		fmt.Fprintf(&b, "\nNO FAILED TEST RAN AGAIN: %s\n", r.notAgain)
	}
	b.WriteString("\n" + r.machine.String() + "\n")
	after := childrenCost()
	c := cost{Wall: time.Since(r.began), User: after.User - r.before.User, Sys: after.Sys - r.before.Sys}
	passed, failed, skipped := r.results.counts()
	fmt.Fprintf(&b, "run: %.0f s of wall, %.0f s of CPU (user %.0f, system %.0f), load average at most %.1f\n",
		c.Wall.Seconds(), c.cpu().Seconds(), c.User.Seconds(), c.Sys.Seconds(), r.load.peakLoad())
	fmt.Fprintf(&b, "%d passed, %d failed, %d skipped", passed, failed, skipped)
	if outside := outsideOfTests(red); outside > 0 {
		fmt.Fprintf(&b, "; failures outside of tests: %d", outside)
	}
	b.WriteString("\n")
	return b.String(), len(red) == 0 && len(left.nowhere) == 0
}

// outsideOfTests returns the number of failures of packages and steps.
func outsideOfTests(red map[name]string) int {
	n := 0
	for of := range red {
		if of.test == "" {
			n++
		}
	}
	return n
}

// counts returns the numbers of root tests that finally passed, failed and were skipped. A test that ran in several
// steps counts once.
func (r *results) counts() (passed, failed, skipped int) {
	worst, red := map[name]int{}, r.failures()
	rank := map[string]int{"skip": 1, "pass": 2, "fail": 2} // a failed test that is not red has passed again
	for n, attempts := range r.tests {
		if n.root() != n {
			continue
		}
		of := name{pkg: n.pkg, test: n.test}
		worst[of] = max(worst[of], rank[attempts[len(attempts)-1].outcome])
		if red[n] != "" {
			worst[of] = 3
		}
	}
	for _, w := range worst {
		switch w {
		case 1:
			skipped++
		case 2:
			passed++
		case 3:
			failed++
		}
	}
	return passed, failed, skipped
}

// slowest returns the table of the root tests that took most time.
func slowest(r *results) string {
	type row struct {
		name    name
		elapsed time.Duration
	}
	var rows []row
	for _, n := range r.order {
		for _, a := range r.tests[n] {
			if n.root() == n {
				rows = append(rows, row{n, a.elapsed})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.elapsed, a.elapsed) })
	var b strings.Builder
	b.WriteString("\nslowest tests\n")
	for _, row := range rows[:min(tableRows, len(rows))] {
		fmt.Fprintf(&b, "%8.1f s  %s\n", row.elapsed.Seconds(), row.name)
	}
	return b.String()
}

// readCosts adds up the lines that measurePackage writes, by the folders of packages, and returns their sum. It skips
// any other line.
func readCosts(lines string, byPackage map[string]cost) (sum cost) {
	for s := bufio.NewScanner(strings.NewReader(lines)); s.Scan(); {
		var c cost
		var dir string
		if _, err := fmt.Sscanf(s.Text(), "%d %d %d %s", &c.Wall, &c.User, &c.Sys, &dir); err != nil {
			continue
		}
		byPackage[dir] = byPackage[dir].plus(c)
		sum = sum.plus(c)
	}
	return sum
}

// costly returns the table of the packages whose test programs used most CPU time.
func costly(byPackage map[string]cost) string {
	dirs := slices.Collect(maps.Keys(byPackage))
	slices.SortFunc(dirs, func(a, b string) int {
		return cmp.Or(cmp.Compare(byPackage[b].cpu(), byPackage[a].cpu()), strings.Compare(a, b))
	})
	top, _ := os.Getwd()
	var all cost
	var b strings.Builder
	fmt.Fprintf(&b, "\npackages by CPU    CPU      wall\n")
	for i, dir := range dirs {
		c := byPackage[dir]
		all = all.plus(c)
		if i < tableRows {
			folder := strings.TrimPrefix(dir, top)
			fmt.Fprintf(&b, "            %8.1f s %8.1f s  .%s\n", c.cpu().Seconds(), c.Wall.Seconds(), folder)
		}
	}
	fmt.Fprintf(&b, "            %8.1f s             all test programs; the rest compiled them, or served them\n",
		all.cpu().Seconds())
	return b.String()
}

// notCounted returns the line about a cached step: its packages have no CPU in the table of packages.
func (r *results) notCounted(step string) string {
	ran, cached := 0, 0
	for of, served := range r.served {
		switch {
		case of.step != step:
		case served:
			cached++
		default:
			ran++
		}
	}
	return fmt.Sprintf("    not counted: step %s: %d of its packages ran, and go's cache had the results of %d\n"+
		"    (go test caches no results of programs whose CPU is measured)\n", step, ran, cached)
}

func (l leftOut) String() string {
	var b strings.Builder
	for _, target := range sorted(l.targets) {
		fmt.Fprintf(&b, "%6d tests are left to make %s\n", l.targets[target], target)
	}
	for _, why := range sorted(l.missing) {
		fmt.Fprintf(&b, "%6d NOT TESTED: %s\n", l.missing[why], why)
	}
	for _, n := range l.nowhere {
		fmt.Fprintf(&b, "RAN IN NO STEP: %s: add its package to a step in test/tiers\n", n)
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nleft out\n" + b.String()
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// flakyTable shows the tests that passed only in a later run, each with the output of its first failure.
func (r *results) flakyTable() string {
	var b strings.Builder
	for _, n := range r.flaky() {
		attempts := r.tests[n]
		fmt.Fprintf(&b, "%s: run %s\n%s", n, times(len(attempts)), indent(attempts[0].output.String()))
	}
	if b.Len() == 0 {
		return "\nFLAKY: none\n"
	}
	return "\nFLAKY: these tests failed, and passed when they ran again\n" + b.String()
}

func (r *results) failureTable(red map[name]string) string {
	if len(red) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nFAILED\n")
	byName := func(a, b name) int { return strings.Compare(a.String(), b.String()) }
	for _, n := range slices.SortedFunc(maps.Keys(red), byName) {
		fmt.Fprintf(&b, "%s: %s\n", n, red[n])
		if last := lastFailure(r.tests[n]); last != nil {
			b.WriteString(r.failedParts(n))
			b.WriteString(indent(last.output.String()))
		} else {
			b.WriteString(r.partsOfDead(n))
			if loose := r.loose[n]; loose != nil {
				b.WriteString(indent(loose.String()))
			}
		}
	}
	return b.String()
}

// partsOfDead returns the outputs of the root tests in the middle of which the test program of a package ended. One of
// them has the program's last words.
func (r *results) partsOfDead(pkg name) string {
	var b strings.Builder
	for _, n := range r.order {
		if n.step == pkg.step && n.pkg == pkg.pkg && n.root() == n && r.cutOff(n) && !r.last(n).paused {
			fmt.Fprintf(&b, "    output of %s:\n%s", n.test, indent(r.last(n).output.String()))
		}
	}
	return b.String()
}

// failedParts returns a line for each failed subtest of a root test, with the last line in which the subtest says what
// is wrong. The lines of a subtest that passes can hide them in the output of the root test.
func (r *results) failedParts(root name) string {
	var b strings.Builder
	for _, n := range r.order {
		if n.root() != root || n == root || failure(r.tests[n]) == "" {
			continue
		}
		said := ""
		for line := range strings.Lines(lastFailure(r.tests[n]).output.String()) {
			if says.MatchString(line) && !strings.Contains(line, "--- FAIL") {
				said = strings.TrimSpace(line)
			}
		}
		fmt.Fprintf(&b, "    failed: %s: %s\n", strings.TrimPrefix(n.test, root.test+"/"), said)
	}
	return b.String()
}

// says matches a line in which a test says what is wrong, or that a subtest failed.
var says = regexp.MustCompile(`^\s*(\w+_test\.go:\d+: |--- FAIL: )`)

// dying matches the first line that a Go program writes about its own sudden end.
var dying = regexp.MustCompile(`^(panic: |fatal error: |SIG[A-Z]+: |runtime: |race: |==================$)`)

// indent returns the parts of an output that explain a failure, each line after four blanks: the last lines, the first
// of the lines in which a test says what is wrong, and the lines where the test program begins to tell of its end.
func indent(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	died := slices.IndexFunc(lines, dying.MatchString)
	var b strings.Builder
	said, left := 0, 0
	for i, line := range lines {
		switch {
		case i >= len(lines)-outputLines, died >= 0 && i >= died && i < died+outputLines:
		case says.MatchString(line) && said < outputLines:
			said++
		default:
			left++
			continue
		}
		if left > 0 {
			fmt.Fprintf(&b, "    ... %s left out\n", linesOf(left))
			left = 0
		}
		b.WriteString("    " + line + "\n")
	}
	return b.String()
}

func linesOf(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}
