package plan_test

import (
	"testing"
	"time"

	"jjm"
	"jjm/plan"
)

var phases = []jjm.Phase{"", jjm.Doubtful, jjm.RetryWait, jjm.Spooled, jjm.Queued, jjm.BatchHeld, jjm.Starting, jjm.Collecting}

func TestLive_WholeInputSpace(t *testing.T) {
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
		"unknown or ended changed something":         !in.Report.State.Alive() && (out.Changed || !same),
		"a job that is not in the batch moved":       !movable && (out.Changed || !same),
		"running went back":                          in.State == jjm.Running && out.State == jjm.Submitted && out.Phase != jjm.BatchHeld && !restarted,
		"restarts went back":                         out.Restarts < in.Restarts,
		"a restart was not journaled":                restarted && !out.Changed,
		"changed is wrong":                           out.Changed != (!same || restarted),
		"a change without a cause":                   out.Changed && out.Cause == "",
		"left the live states":                       !same && out.State != jjm.Submitted && out.State != jjm.Running,
		"jjm's own hold shown as the batch system's": in.OwnHold && !same && out.Phase == jjm.BatchHeld,
		"a running job is not shown so":              movable && (in.Report.State == jjm.BatchRunning || in.Report.State == jjm.BatchSuspended) && out.State != jjm.Running,
		"a held job is not shown so":                 movable && !in.OwnHold && in.Report.State == jjm.BatchHold && out.Phase != jjm.BatchHeld,
	} {
		if bad {
			t.Errorf("%s: %+v -> %+v", what, in, out)
		}
	}
}

func TestLive_SaysWhatHappened(t *testing.T) {
	out := plan.Live(plan.LiveInput{State: jjm.Running, Restarts: 1,
		Report: jjm.Report{State: jjm.BatchQueued, Restarts: 2, Host: "wn3", Reason: "node failure"}})
	if want := "batch system says QUEUED on wn3, restarted by it (restart 2): node failure"; out.Cause != want || out.State != jjm.Submitted {
		t.Errorf("%+v, want cause %q", out, want)
	}
}

func TestAbsence_MissingJobStaysActiveUntilProven(t *testing.T) {
	rules := plan.DefaultAbsenceRules()
	since := jjm.Time(1_000_000)
	enough := plan.Absence{Since: since, Listings: 3}
	proven := enough
	proven.Proven = true
	at := since.Add(10 * time.Minute)
	for name, c := range map[string]struct {
		a         plan.Absence
		now       jjm.Time
		accounted bool
		fresh     bool
		want      plan.AbsenceVerdict
	}{
		"not missing":                 {plan.Absence{}, at, true, false, plan.AbsentWait},
		"two listings":                {plan.Absence{Since: since, Listings: 2, Proven: true}, at, true, false, plan.AbsentWait},
		"nine minutes":                {proven, at - 1, true, false, plan.AbsentWait},
		"clock set back":              {proven, since - 1, true, false, plan.AbsentWait},
		"accounting not asked":        {proven, at, false, false, plan.AskAccounting},
		"accounting, heartbeat fresh": {enough, at, false, true, plan.AskAccounting},
		"heartbeat fresh":             {proven, at, true, true, plan.AbsentWait},
		"not proven":                  {enough, at, true, false, plan.Prove},
		"proven":                      {proven, at, true, false, plan.Lost},
	} {
		if got := plan.Missing(c.a, c.now, c.accounted, c.fresh, rules); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAbsence_OnlyNewHealthyListingsCount(t *testing.T) {
	a := plan.Absence{}.Seen(100)
	for _, c := range []struct {
		at       jjm.Time
		listings int
	}{{50, 0}, {100, 0}, {101, 1}, {101, 1}, {90, 1}, {102, 2}} {
		a = a.Missed(c.at, 0)
		if a.Listings != c.listings {
			t.Errorf("after the listing of %d: %+v, want %d", c.at, a, c.listings)
		}
	}
	if a.Since != 101 || a.LastSeen != 100 {
		t.Errorf("missing since %d, seen %d", a.Since, a.LastSeen)
	}
	if b := (plan.Absence{}).Missed(100, 100); b.Listings != 0 {
		t.Errorf("a listing from before the submission counted: %+v", b)
	}
	if b := a.Seen(103); b != (plan.Absence{LastSeen: 103}) {
		t.Errorf("seen again: %+v", b)
	}
}
