package adapters_test

import (
	"fmt"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func TestNotStarted_CountsOnlyForErrorsOfKindBusy(t *testing.T) {
	busy := jjm.Errorf(jjm.Busy, "no turn")
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"marked":              {adapters.NotStarted(busy), true},
		"marked and wrapped":  {fmt.Errorf("submit: %w", adapters.NotStarted(busy)), true},
		"only busy":           {busy, false},
		"a second command":    {jjm.Errorf(jjm.Ambiguous, "array 7[]: %w", adapters.NotStarted(busy)), false},
		"no error":            {adapters.NotStarted(nil), false},
		"an error of no kind": {adapters.NotStarted(fmt.Errorf("broken")), false},
	} {
		if got := adapters.IsNotStarted(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if err := adapters.NotStarted(busy); err.Error() != busy.Error() || jjm.KindOf(err) != jjm.Busy {
		t.Errorf("the mark changed the error: %v", err)
	}
}
