package conformance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Check is one property that an adapter must have.
type Check struct {
	// Name is a short sentence that names the property.
	Name string
	// Proves is a sentence that is true once the check has passed.
	Proves string
	// Alone marks checks that fill or disturb the batch system: no other check runs at the same time.
	Alone bool
	// Bearable marks checks that can run on a site's own queue: they start a few short jobs and
	// disturb no other user.
	Bearable bool
	// Site marks checks that examine the site with a real job; such checks need [System].Site.
	Site bool
	// Remedy is the advice to an admin if the check fails on a site; "" if only the adapter can be at fault.
	Remedy string
	// Part names the tables of a description (kind "command") that the property depends on.
	Part string

	// early is set for a check that runs by itself before the checks that depend on it.
	early bool
	kinds map[string]string // additional remedies by kind of cluster
	files bool              // whether its jobs exchange files with the check
	// lacks returns the reason why the check cannot run on the system, "" if it can. lacks is nil for a check that can
	// run everywhere.
	lacks func(*suite) string
	test  func(*suite)
}

// Checks returns all checks in the order of the documentation. Schedule runs the first check before all others, so the
// first check must start no jobs.
func Checks() []Check {
	var all []Check
	for _, theme := range [][]Check{
		limitChecks(), bulkChecks(), endChecks(), identityChecks(), listingChecks(), findChecks(), controlChecks(),
		holdChecks(), troubleChecks(), faultChecks(), siteChecks(),
	} {
		all = append(all, theme...)
	}
	return all
}

// ForTests returns the checks for the tests of an adapter.
func ForTests() []Check { return only(func(c Check) bool { return !c.Site }) }

// ForSite returns the checks of the site itself, followed by the checks that a site's own queue can bear.
func ForSite() []Check {
	return append(siteChecks(), only(func(c Check) bool { return c.Bearable && !c.Site })...)
}

// Answering returns the check that shows whether the commands of a batch system answer.
func Answering() []Check { return only(func(c Check) bool { return c.Part == "[[probe]]" })[:1] }

func only(keep func(Check) bool) []Check {
	return slices.DeleteFunc(Checks(), func(c Check) bool { return !keep(c) })
}

// Run runs the check on a system of its own. notHere is "" if the check ran; otherwise it is the reason why the check
// does not apply: on a site the missing requirement, in a test of an adapter the reason from [System].NotHere. A test
// fails if a requirement is missing that NotHere does not declare, or if a check passes that NotHere declares.
func (c Check) Run(t TB, system System) (notHere string) {
	t.Helper()
	s := newSuite(t, system)
	s.start()
	lacking, reason := s.lacking(c), s.NotHere[c.Name]
	switch {
	case lacking == "" && reason == "":
		c.test(s)
		if !s.Failed() {
			s.everyJobSeen()
		}
		return ""
	case s.Site != nil:
		return lacking
	case reason == "":
		s.Fatalf("this check does not apply: %s. Give the system what it needs, or say in NotHere why it cannot", lacking)
	case lacking == "":
		s.expectFailure(c, reason)
	}
	return reason
}

func newSuite(t TB, system System) *suite {
	s := &suite{TB: t, System: system, began: time.Now()}
	s.Patience = cmp.Or(s.Patience, defaultPatience)
	s.Jobs = cmp.Or(s.Jobs, defaultJobs)
	if s.Pause == 0 && s.Bin != "" {
		s.Pause = commandPause
	}
	s.Pause = cmp.Or(s.Pause, defaultPause)
	w := newWitness(patient{s.Adapter, s.Patience})
	s.under, s.Adapter, s.unseen = s.Adapter, w, w.jobs
	ctx, end := context.WithTimeout(t.Context(), max(4*s.Patience, answerTime))
	t.Cleanup(end)
	s.ctx = ctx
	return s
}

// lacking returns the reason why a check cannot run here, "" if it can.
func (s *suite) lacking(c Check) string {
	switch {
	case c.Site && s.Site == nil:
		return "it is for sites only"
	case c.files && !sharesFiles(s):
		return "the workers of this cluster do not see the work area"
	case c.lacks == nil:
		return ""
	}
	return c.lacks(s)
}

// sharesFiles reports whether jobs see the check's folder. Jobs of an adapter test always see the folder; on a site it
// depends on Capabilities.SharedFS.
func sharesFiles(s *suite) bool { return s.Site == nil || s.Adapter.Capabilities().SharedFS }

// notTried ends a check that could not examine its property. In the test of an adapter that is a failure, because the
// test could provide what was missing.
func notTried(s *suite, why string) {
	s.Helper()
	if r, ok := s.TB.(*recorder); ok && s.Site != nil {
		r.leave(why)
	}
	s.Fatalf("not tried: %s", why)
}

// expectFailure runs a check that NotHere declares as not applicable, up to its first failure. If the check passes,
// expectFailure fails, because NotHere is then wrong.
func (s *suite) expectFailure(c Check, reason string) {
	s.Helper()
	p := &recorder{ctx: s.Context(), name: c.Name, stopAtFirst: true}
	inner := &suite{TB: p, System: s.System, began: s.began, ctx: s.ctx, unseen: s.unseen}
	p.guard(func() { c.test(inner) })
	p.clean()
	s.made = append(s.made, inner.made...) // sweep also cancels the jobs of the inner check
	if !p.Failed() {
		s.Errorf("NotHere says %q, but the check passes: take it out", reason)
		return
	}
	s.Logf("as declared, it does not pass: %s", p.failures[0])
}

// Undeclared returns a problem for each entry of a NotHere with an unknown check or without a reason.
func Undeclared(notHere map[string]string) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(notHere)) {
		switch known := slices.ContainsFunc(ForTests(), func(c Check) bool { return c.Name == name }); {
		case !known:
			problems = append(problems, fmt.Sprintf("NotHere has %q, but no check has that name: was the check renamed?", name))
		case notHere[name] == "":
			problems = append(problems, fmt.Sprintf("NotHere has %q without a reason", name))
		}
	}
	return problems
}

const (
	defaultPatience = 30 * time.Second
	defaultJobs     = 200
	defaultPause    = 20 * time.Millisecond
	commandPause    = 500 * time.Millisecond
)

// atOnce is the largest number of checks that run at the same time. It may be larger than the number of CPUs, because
// checks spend nearly all of their time waiting.
const atOnce = 12

// Schedule calls run for each check in this order, one check at a time unless noted: the first check; the early checks;
// the checks without Alone, up to atOnce in parallel if run returned true for the first check; the checks with Alone.
func Schedule(checks []Check, run func(Check) (parallel bool)) {
	if len(checks) == 0 {
		return
	}
	width := 1
	if run(checks[0]) {
		width = atOnce
	}
	var alone []Check
	var all sync.WaitGroup
	slots := make(chan struct{}, width)
	for _, c := range checks[1:] {
		if c.early {
			run(c)
		}
	}
	for _, c := range checks[1:] {
		if c.early {
			continue
		}
		if c.Alone {
			alone = append(alone, c)
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			run(c)
		})
	}
	all.Wait()
	for _, c := range alone {
		run(c)
	}
}
