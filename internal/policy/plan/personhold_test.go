package plan_test

import (
	"strings"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// The table releases a local job in every state in which it can be held, with and without new retry arguments.
func TestPersonRelease_Table(t *testing.T) {
	batch := &jjm.Holding{By: jjm.HeldBatchSystem, Since: 1}
	kept := plan.Kept(nil, "alice: disk full", "alice")
	for name, c := range map[string]struct {
		job    jjm.LocalJob
		as     plan.ReleaseAs
		worded plan.ReleaseAs // with new retry arguments
		why    string         // part of the error with new retry arguments
	}{
		"by its application": {jjm.LocalJob{State: jjm.Held, Phase: jjm.HeldByApp}, plan.ReleaseHeld, plan.ReleaseHeld, ""},
		"by a person, before its first attempt": {jjm.LocalJob{State: jjm.Held, Phase: jjm.HeldByPerson},
			plan.ReleaseHeld, plan.ReleaseNone, "its first attempt"},
		"by a person, before a later attempt": {jjm.LocalJob{State: jjm.Held, Phase: jjm.HeldByPerson, Attempt: 1},
			plan.ReleaseHeld, plan.ReleaseHeld, ""},
		"by a person, while it runs": {jjm.LocalJob{State: jjm.Running, Holding: kept}, plan.ReleaseLater, plan.ReleaseNone,
			"in the batch system"},
		"by the batch system": {jjm.LocalJob{State: jjm.Submitted, Phase: jjm.BatchHeld, Holding: batch},
			plan.ReleaseBatch, plan.ReleaseNone, "in the batch system"},
		"not held": {jjm.LocalJob{State: jjm.Running}, plan.ReleaseNone, plan.ReleaseNone, ""},
		"failed":   {jjm.LocalJob{State: jjm.Failed, Phase: jjm.ByLimit}, plan.ReleaseNone, plan.ReleaseNone, ""},
		"being killed": {jjm.LocalJob{State: jjm.Held, Phase: jjm.HeldByApp, Kill: true}, plan.ReleaseNone,
			plan.ReleaseNone, ""},
	} {
		if as, why := plan.PersonRelease(&c.job, false); as != c.as || why != "" {
			t.Errorf("%s: %d, %q; want %d", name, as, why, c.as)
		}
		as, why := plan.PersonRelease(&c.job, true)
		if as != c.worded || !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%s, with words: %d, %q; want %d, %q", name, as, why, c.worded, c.why)
		}
	}
}

func TestWithWords_QuotesAndCuts(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"RESTART"}, " with the words RESTART"},
		{[]string{"file", "disk 8"}, ` with the words file "disk 8"`},
		{[]string{strings.Repeat("ü", 300)}, " with the words " + strings.Repeat("ü", 100) + "…"},
	} {
		if got := plan.WithWords(c.args); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
