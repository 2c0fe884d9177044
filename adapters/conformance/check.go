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

// Check is one thing that an adapter must do.
type Check struct {
	// Name is a sentence of a few words.
	Name string
	// Proves says what is known when it has passed.
	Proves string
	// Alone checks fill the batch system or disturb it: no other check runs at
	// the same time.
	Alone bool
	// Bearable checks can be run on a site's own queue: a few short jobs that
	// disturb nobody.
	Bearable bool
	// Site checks look at the site with a real job, and need [System].Site.
	Site bool
	// Remedy tells an admin what to look at if it fails on a site; "" where
	// only the adapter can be at fault.
	Remedy string

	files bool // its jobs speak to it through files
	// lacks says what a system has not that the check needs, "" if it has all;
	// nil where nothing is needed.
	lacks func(*suite) string
	test  func(*suite)
}

// Checks lists all checks, in the order of the documentation. The first one
// runs alone, and so starts no jobs.
func Checks() []Check {
	var all []Check
	for _, theme := range [][]Check{
		limitChecks(), endChecks(), identityChecks(), listingChecks(), findChecks(), controlChecks(), holdChecks(),
		troubleChecks(), faultChecks(), siteChecks(),
	} {
		all = append(all, theme...)
	}
	return all
}

// ForTests lists the checks of an adapter.
func ForTests() []Check { return only(func(c Check) bool { return !c.Site }) }

// ForSite lists the checks that a site's own queue can bear, first those of the
// site itself.
func ForSite() []Check {
	return append(siteChecks(), only(func(c Check) bool { return c.Bearable && !c.Site })...)
}

func only(keep func(Check) bool) []Check {
	return slices.DeleteFunc(Checks(), func(c Check) bool { return !keep(c) })
}

// Run runs the check on a system, which must be its own. NotHere is "" if it
// ran, else why it does not apply: on a site what is missing, in a test of an
// adapter the reason in [System].NotHere. What is missing there and not declared
// is a failure, and so is a check that is declared and passes.
func (c Check) Run(t TB, system System) (notHere string) {
	t.Helper()
	s := newSuite(t, system)
	s.start()
	lacking, reason := s.lacking(c), s.NotHere[c.Name]
	switch {
	case lacking == "" && reason == "":
		c.test(s)
		return ""
	case s.Site != nil:
		return lacking
	case reason == "":
		s.Fatalf("this check does not apply: %s. Give the system what it needs, or say in NotHere why it cannot", lacking)
	case lacking == "":
		s.refute(c, reason)
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
	ctx, end := context.WithTimeout(t.Context(), max(4*s.Patience, answerTime))
	t.Cleanup(end)
	s.ctx = ctx
	return s
}

// lacking says what keeps a check from being run here, "" if nothing does.
func (s *suite) lacking(c Check) string {
	switch {
	case c.Site && s.Site == nil:
		return "it is for sites only"
	case c.files && s.Site != nil && !s.Adapter.Capabilities().SharedFS:
		return "the workers of this cluster do not see the work area"
	case c.lacks == nil:
		return ""
	}
	return c.lacks(s)
}

// refute runs a check of which the system's test says that it cannot pass here,
// up to its first failure, and wants one.
func (s *suite) refute(c Check, reason string) {
	s.Helper()
	p := &probation{ctx: s.Context(), name: c.Name, hasty: true}
	inner := &suite{TB: p, System: s.System, began: s.began, ctx: s.ctx}
	p.guard(func() { c.test(inner) })
	p.clean()
	s.made = append(s.made, inner.made...) // for the sweep
	if !p.Failed() {
		s.Errorf("NotHere says %q, but the check passes: take it out", reason)
		return
	}
	s.Logf("as declared, it does not pass: %s", p.failures[0])
}

// Undeclared lists what a NotHere says that no check is named, each in a
// sentence.
func Undeclared(notHere map[string]string) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(notHere)) {
		switch known := slices.ContainsFunc(ForTests(), func(c Check) bool { return c.Name == name }); {
		case !known:
			problems = append(problems, fmt.Sprintf("NotHere has %q, and there is no such check: was it renamed?", name))
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

// atOnce is how many checks run at the same time where they may: they wait
// nearly all of their time.
const atOnce = 12

// Schedule calls run for each check: for the first one alone, and for the
// others that need not be alone several at once if run said that they may.
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
