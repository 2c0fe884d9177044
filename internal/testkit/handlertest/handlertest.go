// Package handlertest runs, as a test, the checks of package handlers/conformance, which every job type must pass.
package handlertest

import (
	"testing"

	"jjm/handlers"
	"jjm/handlers/conformance"
)

// Good is a spec that the type must accept, with the number of its local jobs. If the type generates its own work, Good
// also has the total number of events or rows. If Good has no spec, the example of the type is used.
type Good = conformance.Good

// Run checks a job type against the contract of [handlers.Handler]: see
// [conformance.Checks].
func Run(t *testing.T, h handlers.Handler, site handlers.Site, good ...Good) {
	if problems := handlers.Learn(h); len(problems) > 0 {
		t.Errorf("what type %s is cannot be found out: %v", h.Type(), problems)
	}
	for i, g := range good {
		if g.Parts < 1 || g.Units < 1 && !h.Describe().Reads {
			t.Errorf("good %d: say how many Parts and Units come of it: the suite cannot know that a row is missing", i)
		}
	}
	for _, check := range conformance.Checks(h, site, good...) {
		t.Run(check.Name, func(t *testing.T) { check.Run(t) })
	}
}
