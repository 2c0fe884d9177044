package jjm_test

import (
	"testing"

	"jjm/internal/jjm"
)

// The CPU time of an attempt that ended with RETRY is wasted if the data of the RETRY is only RESTART. After any other
// RETRY the next attempt continues the work, so the CPU time is useful (gbs.md 2).
func TestVerdict_WastedIsWhatNothingGoesOnFrom(t *testing.T) {
	for _, c := range []struct {
		what string
		v    jjm.Verdict
		want bool
	}{
		{"SUCCEEDED", jjm.Verdict{Action: jjm.Complete}, false},
		{"RETRY RESTART", jjm.Verdict{Action: jjm.Retry, Handled: true, RetryArgs: []string{"RESTART"}}, true},
		{"RETRY", jjm.Verdict{Action: jjm.Retry, Handled: true}, false},
		{"RETRY 2 385", jjm.Verdict{Action: jjm.Retry, Handled: true, RetryArgs: []string{"2", "385"}}, false},
		{"RETRY RESTART 2", jjm.Verdict{Action: jjm.Retry, Handled: true, RetryArgs: []string{"RESTART", "2"}}, false},
		{"HOLD 3", jjm.Verdict{Action: jjm.Hold, Handled: true, RetryArgs: []string{"3"}}, false},
		{"a lost node", jjm.Verdict{Action: jjm.Retry, RetryArgs: []string{"2", "385"}}, true},
		{"RETRY beyond its limit", jjm.Verdict{Action: jjm.Fail, Handled: true, RetryArgs: []string{"2"}}, true},
		{"killed", jjm.Verdict{Action: jjm.Cancel}, true},
	} {
		if got := c.v.Wasted(); got != c.want {
			t.Errorf("%s: wasted %v, want %v", c.what, got, c.want)
		}
	}
}
