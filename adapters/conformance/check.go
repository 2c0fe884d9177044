package conformance

import (
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

// Run runs the check on a system, which must be its own.
func (c Check) Run(t TB, system System) {
	t.Helper()
	s := &suite{TB: t, System: system, began: time.Now()}
	if s.Patience == 0 {
		s.Patience = defaultPatience
	}
	if s.Jobs == 0 {
		s.Jobs = defaultJobs
	}
	if s.Pause == 0 {
		s.Pause = defaultPause
	}
	switch {
	case c.Site && s.Site == nil:
		s.Skipf("only on a site")
	case c.files && s.Site != nil && !s.Adapter.Capabilities().SharedFS:
		s.Skipf("the workers of this cluster do not see the work area")
	}
	s.start()
	c.test(s)
}

const (
	defaultPatience = 30 * time.Second
	defaultJobs     = 200
	defaultPause    = 20 * time.Millisecond
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
