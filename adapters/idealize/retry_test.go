package idealize

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func TestRetry_ASubmissionThatWasStartedOnceIsNotReportedAsNotStarted(t *testing.T) {
	ran, refused := jjm.Errorf(jjm.Busy, "too many jobs"), adapters.NotStarted(jjm.Errorf(jjm.Busy, "breaker open"))
	for name, c := range map[string]struct {
		verb       Verb
		attempts   []error // the last error is repeated
		notStarted bool
	}{
		"never started":       {Submit, []error{refused}, true},
		"started first":       {Submit, []error{ran, refused}, false},
		"started in between":  {Submit, []error{refused, ran, refused}, false},
		"a listing":           {List, []error{ran, refused}, true},
		"accepted in the end": {Submit, []error{refused, ran, nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				next := func(context.Context, Verb, func(context.Context) error) error {
					err := c.attempts[min(n, len(c.attempts)-1)]
					n++
					return err
				}
				err := withRetry(5*time.Second, next)(t.Context(), c.verb, nil)
				if adapters.IsNotStarted(err) != c.notStarted || n < 3 {
					t.Errorf("error %v after %d attempts", err, n)
				}
				if last := c.attempts[len(c.attempts)-1]; last == nil && err != nil {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
