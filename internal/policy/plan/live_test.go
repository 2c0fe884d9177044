package plan_test

import (
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

var phases = []jjm.Phase{"", jjm.Doubtful, jjm.RetryWait, jjm.Spooled, jjm.Queued, jjm.BatchHeld, jjm.Starting}

func TestLive_IsSafeForEveryInput(t *testing.T) {
	for s := jjm.New; int(s) < jjm.NumStates; s++ {
		for _, p := range phases {
			for b := jjm.BatchUnknown; b <= jjm.BatchCancelled; b++ {
				for restarts := range 3 {
					for _, own := range bools {
						in := plan.LiveInput{State: s, Phase: p, Restarts: 1, OwnHold: own,
							Report: jjm.Report{State: b, Restarts: restarts}}
						checkLive(t, in, plan.Live(in))
					}
				}
			}
		}
	}
}

func checkLive(t *testing.T, in plan.LiveInput, out plan.LiveChange) {
	t.Helper()
	same := out.State == in.State && out.Phase == in.Phase
	restarted := out.Restarts > in.Restarts
	movable := in.State >= jjm.Submitting && in.State <= jjm.Running && in.Phase != jjm.RetryWait
	for what, bad := range map[string]bool{
		"unknown or ended changed something":   !in.Report.State.Alive() && (out.Changed || !same),
		"a job that is not in the batch moved": !movable && (out.Changed || !same),
		"running went back": in.State == jjm.Running && out.State == jjm.Submitted &&
			out.Phase != jjm.BatchHeld && !restarted,
		"restarts went back":                         out.Restarts < in.Restarts,
		"a restart was not journaled":                restarted && !out.Changed,
		"changed is wrong":                           out.Changed != (!same || restarted),
		"a change without a cause":                   out.Changed && out.Cause == "",
		"left the live states":                       !same && out.State != jjm.Submitted && out.State != jjm.Running,
		"jjm's own hold shown as the batch system's": in.OwnHold && !same && out.Phase == jjm.BatchHeld,
		"a running job is not shown so": movable &&
			(in.Report.State == jjm.BatchRunning || in.Report.State == jjm.BatchSuspended) && out.State != jjm.Running,
		"a held job is not shown so": movable && !in.OwnHold && in.Report.State == jjm.BatchHold &&
			out.Phase != jjm.BatchHeld,
	} {
		if bad {
			t.Errorf("%s: %+v -> %+v", what, in, out)
		}
	}
}

func TestLive_SaysWhatHappened(t *testing.T) {
	out := plan.Live(plan.LiveInput{State: jjm.Running, Restarts: 1,
		Report: jjm.Report{State: jjm.BatchQueued, Restarts: 2, Host: "wn3", Reason: "node failure"}})
	if want := "batch system says QUEUED on wn3, restarted by it (restart 2): node failure"; out.Cause != want ||
		out.State != jjm.Submitted {
		t.Errorf("%+v, want cause %q", out, want)
	}
}
