package plan_test

import (
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

func TestAfterRefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    plan.RefusedFacts
		want plan.RefusedDo
	}{
		"one by one":                  {plan.RefusedFacts{OneByOne: true}, plan.RefusedStopsAll},
		"one by one, keep going":      {plan.RefusedFacts{OneByOne: true, KeepGoing: true}, plan.RefusedStaysNew},
		"one by one, another cluster": {plan.RefusedFacts{OneByOne: true, Elsewhere: true}, plan.RefusedTriesAgain},
		"one by one, ran before":      {plan.RefusedFacts{OneByOne: true, Taken: true}, plan.RefusedFails},
		"one by one, gives its work":  {plan.RefusedFacts{OneByOne: true, Shares: true}, plan.RefusedFails},
		"keep going, ran before":      {plan.RefusedFacts{OneByOne: true, Taken: true, KeepGoing: true}, plan.RefusedFails},
		"an array":                    {plan.RefusedFacts{}, plan.RefusedFails},
		"an array, keep going":        {plan.RefusedFacts{KeepGoing: true}, plan.RefusedFails},
		"an array, another cluster":   {plan.RefusedFacts{Elsewhere: true, KeepGoing: true}, plan.RefusedTriesAgain},
		"another cluster, ran before": {plan.RefusedFacts{OneByOne: true, Elsewhere: true, Taken: true},
			plan.RefusedTriesAgain},
		"another cluster, shares work": {plan.RefusedFacts{OneByOne: true, Elsewhere: true, Shares: true},
			plan.RefusedTriesAgain},
	} {
		if got := plan.AfterRefusal(c.f); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// If a refusal stops the submissions, Grid first marks all new local jobs as not to be submitted, and only a kill comes
// before that. If no local job was submitted and the grid job is to be kept, Grid then rolls the grid job back. A kill
// also kills the local jobs that are not to be submitted.
func TestGrid_TheOrderOfAStop(t *testing.T) {
	t.Parallel()
	refused := plan.GridFacts{Status: jjm.Ready, Prepared: true, Closed: true, Made: 2, Unsubmitted: 2, Refusal: "by one"}
	refused.Counts[jjm.New] = 2
	with := func(change func(*plan.GridFacts)) plan.GridFacts {
		f := refused
		change(&f)
		return f
	}
	stops := func(f *plan.GridFacts) { f.Unsubmitted, f.ToWithhold = 1, true }
	const none = "no local job was submitted; by one"
	for name, c := range map[string]struct {
		f    plan.GridFacts
		want plan.GridAction
	}{
		"kept": {with(func(f *plan.GridFacts) { f.Keep = true }),
			plan.GridAction{Do: plan.RollBack, Status: jjm.Ready, Reason: none}},
		"kept, more to be cut": {with(func(f *plan.GridFacts) { f.Keep, f.Closed = true, false }),
			plan.GridAction{Do: plan.Generate, Status: jjm.Ready}},
		"kept, and one was submitted before": {with(func(f *plan.GridFacts) { f.Keep, f.EverSubmitted = true, true }),
			plan.GridAction{Do: plan.Collect, Status: jjm.Prepared}},
		"a failure while it stops": {with(func(f *plan.GridFacts) { stops(f); f.EverSubmitted, f.Failure = true, "disk" }),
			plan.GridAction{Do: plan.Withhold, Status: jjm.GridRunning}},
		"paused while it stops": {with(func(f *plan.GridFacts) { stops(f); f.Paused = "paused by alice" }),
			plan.GridAction{Do: plan.Withhold, Status: jjm.Paused, Reason: "paused by alice"}},
		"killed while it stops": {with(func(f *plan.GridFacts) { stops(f); f.Kill = true }),
			plan.GridAction{Do: plan.KillLocals, Status: jjm.Aborting}},
		"killed after it stopped": {with(func(f *plan.GridFacts) { f.Kill, f.KillAsked = true, true }),
			plan.GridAction{Do: plan.KillLocals, Status: jjm.Aborting}},
	} {
		if got := plan.Grid(c.f); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A grid job ends although some of its local jobs will never be submitted. If none was submitted, the grid job is
// broken.
func TestGrid_UnsubmittedLocalJobsAreOver(t *testing.T) {
	t.Parallel()
	counts := func(fresh, submitted, completed, failed int) (c [jjm.NumStates]int) {
		c[jjm.New], c[jjm.Submitted], c[jjm.Completed], c[jjm.Failed] = fresh, submitted, completed, failed
		return c
	}
	for name, c := range map[string]struct {
		counts      [jjm.NumStates]int
		unsubmitted int
		withhold    bool
		sent        bool
		do          plan.GridDo
		status      jjm.GridStatus
		reason      string
	}{
		"one is to be submitted": {counts(3, 0, 0, 0), 2, false, false, plan.Nothing, jjm.Ready, ""},
		"one is to be stopped":   {counts(3, 0, 0, 0), 2, true, false, plan.Withhold, jjm.Ready, ""},
		"one is submitted":       {counts(2, 1, 0, 0), 2, false, true, plan.Nothing, jjm.GridRunning, ""},
		"one completed": {counts(2, 0, 1, 0), 2, false, true, plan.Finish, jjm.Finished,
			"1 of 3 local jobs done, 2 new; refused by one"},
		"one failed": {counts(2, 0, 0, 1), 2, false, true, plan.Finish, jjm.GridFailed,
			"0 of 3 local jobs done, 1 failed, 2 new"},
		"all were refused": {counts(3, 0, 0, 0), 3, false, false, plan.Finish, jjm.Broken,
			"no local job was submitted; refused by one"},
		"all were refused again": {counts(3, 0, 0, 0), 3, false, true, plan.Finish, jjm.GridFailed,
			"0 of 3 local jobs done, 3 new; refused by one"},
	} {
		got := plan.Grid(plan.GridFacts{Status: jjm.Ready, Prepared: true, Closed: true, Made: 3, Counts: c.counts,
			Unsubmitted: c.unsubmitted, ToWithhold: c.withhold, Refusal: "refused by one", EverSubmitted: c.sent,
			TarReady: true})
		if got.Do != c.do || got.Status != c.status || got.Reason != c.reason {
			t.Errorf("%s: %s %s %q, want %s %s %q", name, got.Do, got.Status, got.Reason, c.do, c.status, c.reason)
		}
	}
}
