// Package handlertest runs the suite of package conformance, which every job type must
// pass, as a test.
package handlertest

import (
	"testing"

	"jjm"
	"jjm/handlers"
	"jjm/handlers/conformance"
)

// Run holds a job type against the contract of [handlers.Handler]: see
// [conformance.Checks].
func Run(t *testing.T, h handlers.Handler, site handlers.Site, good ...*jjm.Spec) {
	for _, check := range conformance.Checks(h, site, good...) {
		t.Run(check.Name, func(t *testing.T) { check.Run(t) })
	}
}
