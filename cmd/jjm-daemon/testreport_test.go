package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/adapters/conformance"
	"jjm/internal/app"
)

// The number and the length of the lines that the report prints below a check are limited. The remedy is always among
// the lines, and a failure of several jobs is printed once.
func TestDetails_AreForPeople(t *testing.T) {
	many := conformance.Outcome{Remedy: strings.Repeat("look at this ", 30)}
	for i := range 100 {
		many.Failures = append(many.Failures, fmt.Sprintf("job %d is %s", i, strings.Repeat("x", 50*i)))
	}
	got := details(many)
	if len(got) != mostDetails || !strings.HasPrefix(got[len(got)-4], "remedy: look") ||
		!strings.HasPrefix(got[len(got)-5], "and ") || !strings.HasSuffix(got[len(got)-5], " more lines: --json has all") {
		t.Errorf("%d lines:\n%s", len(got), strings.Join(got, "\n"))
	}
	for _, line := range got {
		if len(line) > columns {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	got = details(conformance.Outcome{Failures: []string{"no job jabcdefghijklmn", "no job j23456789abcdef", "else"},
		Notes: []string{"a\nb  c"}})
	if want := []string{"no job jabcdefghijklmn (2 times)", "else", "a", "b c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got = details(conformance.Outcome{Skipped: "no arrays"})
	if !slices.Equal(got, []string{"no arrays"}) {
		t.Errorf("%q", got)
	}
}

// The report contains the reason why a check was not tried, and counts it together with the checks that were not begun.
func TestReport_WhatWasNotTriedIsCounted(t *testing.T) {
	var out strings.Builder
	r := &testReport{out: &out, began: time.Now()}
	r.outcome(conformance.Outcome{Check: conformance.Check{Name: "listings"}, NotTried: "no listing was made"})
	r.end(&app.ClusterTest{Cluster: "farm", NotTried: 2, Why: "no job started"})
	for _, want := range []string{"not tried: listings (", "    no listing was made\n",
		"No job started: 2 checks not tried.\n",
		"0 checks passed, 0 failed, 3 not tried, 0 not applicable, in "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}
