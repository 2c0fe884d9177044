package plan_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

func TestAfter_SaysForWhatAndWhy(t *testing.T) {
	at := func(id jjm.GridID, s jjm.GridStatus) plan.Predecessor { return plan.Predecessor{ID: id, Status: s} }
	again := plan.Predecessor{ID: 12, Status: jjm.GridFailed, Reopening: true}
	for name, c := range map[string]struct {
		all          []plan.Predecessor
		end          string
		waits, never string
	}{
		"none":                {nil, "ok", "", ""},
		"done":                {[]plan.Predecessor{at(12, jjm.Done)}, "ok", "", ""},
		"done, by default":    {[]plan.Predecessor{at(12, jjm.Done)}, "", "", ""},
		"failed, in any way":  {[]plan.Predecessor{at(12, jjm.GridFailed)}, "any", "", ""},
		"killed, in any way":  {[]plan.Predecessor{at(12, jjm.Aborted)}, "any", "", ""},
		"killed, if it fails": {[]plan.Predecessor{at(12, jjm.Aborted)}, "failed", "", ""},
		"partly, if it fails": {[]plan.Predecessor{at(12, jjm.Finished)}, "failed", "", ""},
		"runs": {[]plan.Predecessor{at(12, jjm.GridRunning)}, "ok",
			"waits for the end of grid job 12 (running) as done", ""},
		"two run": {[]plan.Predecessor{at(12, jjm.Pending), at(11, jjm.Done), at(14, jjm.Paused)}, "any",
			"waits for the end of grid jobs 12 (pending) and 14 (paused) in any way", ""},
		"is reopened": {[]plan.Predecessor{again}, "ok", "waits for the end of grid job 12 (is being reopened) as done", ""},
		"many": {[]plan.Predecessor{at(1, jjm.Ready), at(2, jjm.Ready), at(3, jjm.Ready), at(4, jjm.Ready), at(5, jjm.Ready),
			at(6, jjm.Ready), at(7, jjm.Ready)}, "failed", "waits for the end of grid jobs 1 (ready), 2 (ready), 3 (ready), " +
			"4 (ready), 5 (ready) and 2 more in any way but done", ""},
		"finished": {[]plan.Predecessor{at(12, jjm.GridRunning), at(13, jjm.Finished)}, "ok", "",
			`it was to begin only if grid job 13 ended as done (after_end = "ok"), but that ended as finished`},
		"done, if it fails": {[]plan.Predecessor{at(12, jjm.Done)}, "failed", "",
			`it was to begin only if grid job 12 ended in any way but done (after_end = "failed"), but that ended as done`},
	} {
		if waits, never := plan.After(c.all, c.end); waits != c.waits || never != c.never {
			t.Errorf("%s:\n waits %q\n never %q", name, waits, never)
		}
	}
}

// For any predecessors, After returns exactly one decision. The grid job begins only if each predecessor ended in the
// required way. The decision that it never begins does not change unless a predecessor is reopened. The order of the
// predecessors does not matter.
func TestAfter_IsSafeForEveryInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom(jjm.AfterEnds()).Draw(t, "end")
		var all []plan.Predecessor
		for i := range rapid.IntRange(0, 8).Draw(t, "grid jobs") {
			all = append(all, plan.Predecessor{ID: jjm.GridID(i + 1), Reopening: rapid.IntRange(0, 9).Draw(t, "again") == 0,
				Status: jjm.GridStatus(rapid.IntRange(0, jjm.NumGridStatuses-1).Draw(t, "status"))})
		}
		waits, never := plan.After(all, end)
		begins := waits == "" && never == ""
		over := func(p plan.Predecessor) bool { return p.Status.Final() && !p.Reopening }
		right := func(p plan.Predecessor) bool {
			return over(p) && (end == jjm.AfterAny || (p.Status == jjm.Done) == (end == jjm.AfterOK))
		}
		wrong := func(p plan.Predecessor) bool { return over(p) && !right(p) }
		if every := !slices.ContainsFunc(all, func(p plan.Predecessor) bool { return !right(p) }); begins != every {
			t.Fatalf("begins %v, %+v", begins, all)
		}
		if waits != "" && never != "" || (never != "") != slices.ContainsFunc(all, wrong) {
			t.Fatalf("waits %q, never %q: %+v", waits, never, all)
		}
		later := slices.Clone(all)
		for i, p := range later {
			if !over(p) && !p.Reopening {
				later[i].Status = jjm.GridStatus(rapid.IntRange(0, jjm.NumGridStatuses-1).Draw(t, "later"))
			}
		}
		if _, then := plan.After(later, end); never != "" && then == "" {
			t.Fatalf("%q is taken back: %+v", never, later)
		}
		slices.Reverse(all)
		if w, n := plan.After(all, end); (w == "") != (waits == "") || (n == "") != (never == "") {
			t.Fatalf("in another order: %q, %q", w, n)
		}
	})
}

// A grid job that begins after other grid jobs first checks them and then waits as pending. A grid job that is killed,
// paused, failed or already prepared does not wait.
func TestGrid_WaitsForOthers(t *testing.T) {
	const why = "waits for the end of grid job 12 (running) as done"
	looks := plan.GridAction{Do: plan.Await, Status: jjm.Pending,
		Reason: "looks how the grid jobs are that it begins after"}
	for name, c := range map[string]struct {
		f    plan.GridFacts
		want plan.GridAction
	}{
		"at first":    {plan.GridFacts{AfterUnknown: true}, plan.GridAction{Do: plan.Await}},
		"waits":       {plan.GridFacts{After: why, Fetching: "x"}, plan.GridAction{Status: jjm.Pending, Reason: why}},
		"looks again": {plan.GridFacts{AfterUnknown: true, Status: jjm.Pending}, looks},
		"was paused":  {plan.GridFacts{AfterUnknown: true, Status: jjm.Paused}, looks},
		"all ended":   {plan.GridFacts{Status: jjm.Pending}, plan.GridAction{Do: plan.Prepare}},
		"killed":      {plan.GridFacts{After: why, Kill: true}, plan.GridAction{Do: plan.Collect, Status: jjm.Aborting}},
		"paused": {plan.GridFacts{AfterUnknown: true, Paused: "by a"},
			plan.GridAction{Status: jjm.Paused, Reason: "by a"}},
		"failed": {plan.GridFacts{After: why, Failure: "x"}, plan.GridAction{Do: plan.Collect, Status: jjm.Prepared}},
		"has begun": {plan.GridFacts{AfterUnknown: true, After: why, Prepared: true},
			plan.GridAction{Do: plan.Generate, Status: jjm.Defined}},
		"is over": {plan.GridFacts{AfterUnknown: true, Status: jjm.Broken}, plan.GridAction{Status: jjm.Broken}},
	} {
		if got := plan.Grid(c.f); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if !plan.Hopeless(plan.Await, jjm.Invalid, false) || plan.Hopeless(plan.Await, jjm.Busy, true) {
		t.Error("only what is invalid ends a grid job that waits")
	}
}
