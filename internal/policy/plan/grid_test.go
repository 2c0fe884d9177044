package plan_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// subsets yields every set of states of local jobs, with one local job per state, and the empty set.
func subsets() iter.Seq[[jjm.NumStates]int] {
	return func(yield func([jjm.NumStates]int) bool) {
		for set := range 1 << jjm.NumStates {
			var counts [jjm.NumStates]int
			for s := range counts {
				counts[s] = set >> s & 1
			}
			if !yield(counts) {
				return
			}
		}
	}
}

func sum(counts [jjm.NumStates]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

func ended(counts [jjm.NumStates]int) int {
	return counts[jjm.Completed] + counts[jjm.Failed] + counts[jjm.Killed] + counts[jjm.CompletedFrozen] +
		counts[jjm.FailedFrozen]
}

// grids yields every set of states with every status and every flag, and with three values of Made: the number of local
// jobs in the set, one less, and one more.
func grids() iter.Seq[plan.GridFacts] {
	return func(yield func(plan.GridFacts) bool) {
		for counts := range subsets() {
			for n := range jjm.NumGridStatuses << 8 {
				flag := func() bool { b := n&1 == 1; n >>= 1; return b }
				f := plan.GridFacts{Kill: flag(), KillAsked: flag(), Prepared: flag(), Closed: flag(),
					EverSubmitted: flag(), TarReady: flag(), Waits: why(flag()), Counts: counts, Made: sum(counts)}
				if flag() {
					f.Failure = "no such package"
				}
				f.Expected, f.Status = f.Made, jjm.GridStatus(n)
				for f.Made = max(0, f.Expected-1); f.Made <= f.Expected+1; f.Made++ {
					if !yield(f) {
						return
					}
				}
			}
		}
	}
}

func TestGrid_IsSafeForEveryInput(t *testing.T) {
	for f := range grids() {
		a := plan.Grid(f)
		n, over := max(f.Made, sum(f.Counts)), ended(f.Counts)
		completed := f.Counts[jjm.Completed] + f.Counts[jjm.CompletedFrozen]
		switch {
		case f.Status.Final():
			expect(t, &f, &a, a.Do == plan.Nothing && a.Status == f.Status, "moved a final grid job")
			continue
		case a.Do == plan.Finish:
			expect(t, &f, &a, a.Status.Final() && f.TarReady, "finished without its tar")
			expect(t, &f, &a, over == n, "finished with local jobs that are not over")
			expect(t, &f, &a, f.Closed || f.Kill || f.Failure != "", "finished with parts to come")
			expect(t, &f, &a, (a.Status == jjm.Done) == (a.Reason == ""), "no reason")
		default:
			expect(t, &f, &a, !a.Status.Final(), "final without Finish")
		}
		expect(t, &f, &a, a.Do != plan.Collect || over == n && !f.TarReady, "collected too early or again")
		expect(t, &f, &a, a.Do != plan.Collect || a.Status == jjm.Prepared || f.Kill && a.Status == jjm.Aborting,
			"collected as something else")
		expect(t, &f, &a, a.Status != jjm.Done || completed == n && n > 0 && f.Closed && !f.Kill && f.Failure == "",
			"done is not true")
		expect(t, &f, &a, a.Status != jjm.Finished || completed > 0 && !f.Kill, "finished is not true")
		expect(t, &f, &a, a.Status != jjm.GridFailed || completed == 0 && !f.Kill, "failed is not true")
		expect(t, &f, &a, a.Status != jjm.Broken || !f.Kill && (n == 0 || !f.EverSubmitted && f.Failure != ""),
			"broken is not true")
		expect(t, &f, &a, a.Status != jjm.Aborted || f.Kill || f.Counts[jjm.Killed] == n && n > 0, "aborted is not true")
		expect(t, &f, &a, !f.Kill || a.Status == jjm.Aborting || a.Status == jjm.Aborted, "the kill does not show")
		expect(t, &f, &a, !f.Kill || a.Do != plan.Prepare && a.Do != plan.Generate, "makes work for a killed grid job")
		expect(t, &f, &a, f.Failure == "" || a.Do != plan.Prepare && a.Do != plan.Generate, "makes work after a failure")
		expect(t, &f, &a, !f.Kill || over == n || f.KillAsked || a.Do == plan.KillLocals, "the kill is not passed on")
		expect(t, &f, &a, a.Do != plan.KillLocals || !f.KillAsked && over < n &&
			(f.Kill || f.Failure != "" && !f.EverSubmitted), "kills without a reason")
		expect(t, &f, &a, a.Do != plan.Generate || f.Prepared && !f.Closed, "generates unprepared or closed")
		expect(t, &f, &a, a.Do != plan.Prepare || !f.Prepared, "prepares again")
		expect(t, &f, &a, f.Counts[jjm.Held] == 0 || !a.Status.Final() && a.Status != jjm.Prepared,
			"over with held local jobs")
		expect(t, &f, &a, a.Status != jjm.Pending || !f.EverSubmitted && f.Waits != "" && a.Reason != "",
			"pending without a reason")
		expect(t, &f, &a, a.Status != jjm.Paused || f.Paused != "" && a.Reason != "", "paused by itself")
	}
}

func expect(t *testing.T, f *plan.GridFacts, a *plan.GridAction, ok bool, what string) {
	if !ok {
		t.Fatalf("%s: %+v\n-> %s %s %q", what, *f, a.Do, a.Status, a.Reason)
	}
}

func TestGrid_WithoutFailures(t *testing.T) {
	count := func(s jjm.State, n int) (c [jjm.NumStates]int) { c[s] = n; return c }
	f := plan.GridFacts{Status: jjm.Registered, Expected: 4}
	for i, step := range []struct {
		change func()
		do     plan.GridDo
		status jjm.GridStatus
	}{
		{func() {}, plan.Prepare, jjm.Registered},
		{func() { f.Prepared = true }, plan.Generate, jjm.Defined},
		{func() { f.Made, f.Counts = 2, count(jjm.New, 2) }, plan.Generate, jjm.Ready},
		{func() { f.Made, f.Closed, f.Counts = 4, true, count(jjm.New, 4) }, plan.Nothing, jjm.Ready},
		{func() { f.Waits = "all paused" }, plan.Nothing, jjm.Pending},
		{func() { f.Waits = "" }, plan.Nothing, jjm.Ready},
		{func() { f.EverSubmitted, f.Counts = true, count(jjm.Submitted, 4) }, plan.Nothing, jjm.GridRunning},
		{func() { f.Waits, f.EverRan, f.Counts = "all paused", true, count(jjm.Running, 4) }, plan.Nothing, jjm.GridRunning},
		{func() { f.Counts = count(jjm.Held, 4) }, plan.Nothing, jjm.GridRunning},
		{func() { f.Counts = count(jjm.Completed, 4) }, plan.Collect, jjm.Prepared},
		{func() { f.TarReady = true }, plan.Finish, jjm.Done},
		{func() {}, plan.Nothing, jjm.Done},
	} {
		step.change()
		a := plan.Grid(f)
		if a.Do != step.do || a.Status != step.status {
			t.Fatalf("step %d: %s, %s; want %s, %s", i, a.Do, a.Status, step.do, step.status)
		}
		f.Status = a.Status
	}
}

func TestGrid_FinalTextsHaveNumbers(t *testing.T) {
	counts := func(completed, failed, killed int) (c [jjm.NumStates]int) {
		c[jjm.Completed], c[jjm.Failed], c[jjm.Killed] = completed, failed, killed
		return c
	}
	for name, c := range map[string]struct {
		f      plan.GridFacts
		status jjm.GridStatus
		reason string
	}{
		"done": {plan.GridFacts{EverSubmitted: true, Counts: counts(3, 0, 0)}, jjm.Done, ""},
		"done, but lost": {plan.GridFacts{EverSubmitted: true, Counts: counts(3, 0, 0), Recorded: 7, Lost: 2}, jjm.Finished,
			"3 of 3 local jobs done; 2 of 7 recorded outputs changed or removed before they were collected: the tar's manifest names them"},
		"done, as the job file asks": {plan.GridFacts{EverSubmitted: true, Counts: counts(3, 0, 0),
			LeftOut: jjm.LeftList{{What: "section", N: 2, Reason: jjm.LeftMask, Asked: true}}}, jjm.Done,
			"left out: 2 sections (mask)"},
		"left out": {plan.GridFacts{EverSubmitted: true, Counts: counts(3, 0, 0),
			LeftOut: jjm.LeftList{{What: "file", N: 1, Reason: jjm.LeftNoSections, Such: "a", Why: jjm.NoSections}}},
			jjm.Finished, "3 of 3 local jobs done; left out: 1 file (no-sections), such as a: it tells no luminosity sections"},
		"left out, and some failed": {plan.GridFacts{EverSubmitted: true, Counts: counts(2, 1, 0),
			LeftOut: jjm.LeftList{{What: "output", N: 2, Reason: jjm.LeftLink}}},
			jjm.Finished, "2 of 3 local jobs done, 1 failed; left out: 2 outputs (link)"},
		"left out, and all failed": {plan.GridFacts{EverSubmitted: true, Counts: counts(0, 3, 0),
			LeftOut: jjm.LeftList{{What: "file", N: 1, Reason: jjm.LeftNoSections}}},
			jjm.GridFailed, "0 of 3 local jobs done, 3 failed; left out: 1 file (no-sections)"},
		"left out, and killed": {plan.GridFacts{Kill: true, EverSubmitted: true, Counts: counts(1, 0, 1),
			LeftOut: jjm.LeftList{{What: "file", N: 1, Reason: jjm.LeftNoSections}}},
			jjm.Aborted, "killed on request; 1 of 2 local jobs done, 1 killed; left out: 1 file (no-sections)"},
		"all left out": {plan.GridFacts{LeftOut: jjm.LeftList{{What: "file", N: 1, Reason: jjm.LeftNoSections}}},
			jjm.Broken, "the grid job made no local jobs; left out: 1 file (no-sections)"},
		"finished": {plan.GridFacts{EverSubmitted: true, Counts: counts(3, 1, 1)}, jjm.Finished,
			"3 of 5 local jobs done, 1 failed, 1 killed"},
		"failed": {plan.GridFacts{EverSubmitted: true, Counts: counts(0, 4, 1)}, jjm.GridFailed,
			"0 of 5 local jobs done, 4 failed, 1 killed"},
		"aborted": {plan.GridFacts{Kill: true, EverSubmitted: true, Counts: counts(3, 0, 2)}, jjm.Aborted,
			"killed on request; 3 of 5 local jobs done, 2 killed"},
		"killed too late": {plan.GridFacts{Kill: true, EverSubmitted: true, Counts: counts(3, 0, 0)}, jjm.Aborted,
			"killed on request; 3 of 3 local jobs done"},
		"killed by a ban": {plan.GridFacts{Kill: true, KillReason: "its owner is banned: mines coins"}, jjm.Aborted,
			"its owner is banned: mines coins; no local jobs"},
		"killed unborn": {plan.GridFacts{Kill: true}, jjm.Aborted, "killed on request; no local jobs"},
		"killed singly": {plan.GridFacts{EverSubmitted: true, Counts: counts(0, 0, 2)}, jjm.Aborted,
			"every local job was killed; 0 of 2 local jobs done, 2 killed"},
		"broken":         {plan.GridFacts{Failure: "input a.tar: no such file"}, jjm.Broken, "input a.tar: no such file"},
		"broken halfway": {plan.GridFacts{Failure: "disk full", Counts: counts(0, 0, 2)}, jjm.Broken, "disk full"},
		"no parts":       {plan.GridFacts{}, jjm.Broken, "the grid job made no local jobs"},
		"refused":        {plan.GridFacts{Counts: counts(0, 2, 0)}, jjm.GridFailed, "0 of 2 local jobs done, 2 failed"},
		"cut short, all well": {plan.GridFacts{Failure: "disk full", EverSubmitted: true, Counts: counts(2, 0, 0)},
			jjm.Finished,
			"disk full; 2 of 2 local jobs done"},
	} {
		if status, reason := plan.Final(c.f); status != c.status || reason != c.reason {
			t.Errorf("%s: %s %q, want %s %q", name, status, reason, c.status, c.reason)
		}
	}
}

// Every grid job ends, whatever its local jobs do, and the status that the gatekeeper sees never goes backwards.
func TestGrid_EveryGridJobEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := plan.GridFacts{Expected: rapid.IntRange(0, 6).Draw(t, "expected")}
		last := jjm.GRAMUnsubmitted
		for step := 0; !f.Status.Final(); step++ {
			if step > 500 {
				t.Fatalf("does not end: %+v", f)
			}
			f.Waits = why(rapid.Bool().Draw(t, "waits"))
			if rapid.IntRange(0, 30).Draw(t, "kill") == 0 {
				f.Kill, f.KillAsked = true, false
			}
			a := plan.Grid(f)
			f.Status = a.Status
			carryOut(t, &f, a)
			nudge(t, &f)
			state, code, _ := plan.GRAM(plan.GRAMFacts{Status: f.Status, Counts: f.Counts, EverSubmitted: f.EverSubmitted,
				EverRan: f.EverRan, Closed: f.Closed, Reason: a.Reason})
			checkOrder(t, last, state, code, f.Status)
			last = state
		}
		if ended(f.Counts) != sum(f.Counts) || !f.TarReady {
			t.Fatalf("ended too early: %+v", f)
		}
	})
}

func carryOut(t *rapid.T, f *plan.GridFacts, a plan.GridAction) {
	switch fails := rapid.IntRange(0, 20).Draw(t, "fails") == 0; {
	case a.Do == plan.Prepare && fails, a.Do == plan.Generate && fails:
		f.Failure = "disk full"
	case a.Do == plan.Prepare:
		f.Prepared = true
	case a.Do == plan.Generate && f.Made < f.Expected:
		f.Made++
		f.Counts[jjm.New]++
	case a.Do == plan.Generate:
		f.Closed = true
	case a.Do == plan.KillLocals:
		f.KillAsked, f.Closed = true, true
		f.Counts[jjm.Killed] += f.Counts[jjm.New] + f.Counts[jjm.Held]
		f.Counts[jjm.New], f.Counts[jjm.Held] = 0, 0
	case a.Do == plan.Collect:
		f.TarReady = true
	}
}

// nudge moves one local job to a state that may follow its present state.
func nudge(t *rapid.T, f *plan.GridFacts) {
	next := map[jjm.State][]jjm.State{
		jjm.New: {jjm.Submitting}, jjm.Submitting: {jjm.Submitted, jjm.Failed},
		jjm.Submitted: {jjm.Running, jjm.Failed, jjm.Killed},
		jjm.Running:   {jjm.Completing, jjm.Failed, jjm.Submitting, jjm.Held}, jjm.Completing: {jjm.Completed, jjm.Failed},
		jjm.Held: {jjm.Submitting},
	}
	from := jjm.State(rapid.IntRange(0, jjm.NumStates-1).Draw(t, "from"))
	if f.Counts[from] == 0 || next[from] == nil {
		return
	}
	to := rapid.SampledFrom(next[from]).Draw(t, "to")
	if f.Kill && to == jjm.Submitting {
		to = jjm.Killed
	}
	f.Counts[from]--
	f.Counts[to]++
	f.EverSubmitted = f.EverSubmitted || to == jjm.Submitted
	f.EverRan = f.EverRan || to == jjm.Running
}

func checkOrder(t *rapid.T, last, now jjm.GRAM, code int, status jjm.GridStatus) {
	rank := map[jjm.GRAM]int{jjm.GRAMUnsubmitted: 0, jjm.GRAMPending: 1, jjm.GRAMActive: 2, jjm.GRAMSuspended: 2,
		jjm.GRAMDone: 3, jjm.GRAMFailed: 3}
	if rank[now] < rank[last] {
		t.Fatalf("GRAM %s after %s (%s)", now, last, status)
	}
	if (rank[now] == 3) != status.Final() || (code == 17) != (now == jjm.GRAMFailed) {
		t.Fatalf("GRAM %s, code %d of a %s grid job", now, code, status)
	}
}

func TestSummary(t *testing.T) {
	var c [jjm.NumStates]int
	if got := plan.Summary(c, 0); got != "no local jobs" {
		t.Error(got)
	}
	for s := range c {
		c[s] = s + 1
	}
	got := plan.Summary(c, 3)
	for s := range c {
		if want := fmt.Sprintf("%d %s", s+1, jjm.State(s)); !jjm.State(s).IsCompleted() && !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if !strings.HasPrefix(got, "16 of 69 local jobs done, 7 failed, ") ||
		!strings.HasSuffix(got, ", 1 new, 3 given back") {
		t.Error(got)
	}
	shown := plain.Counts(&wire.Lookup{Counts: wire.CountsOf(c, 69, 0)}) // in the answers of status and wait
	if shown != strings.Replace(got, " local jobs", "", 1) {
		t.Errorf("%q, but status shows %q", got, shown)
	}
}

// why returns a reason to wait, or "" if waits is false.
func why(waits bool) string {
	if waits {
		return "cluster farm does not answer"
	}
	return ""
}

// If Keep is set, a grid job that fails before it has local jobs is rolled back and then waits for a person. In all
// other cases Keep has no effect.
func TestGrid_KeepsWhatFailsBeforeItHasLocalJobs(t *testing.T) {
	failed := plan.GridFacts{Keep: true, Status: jjm.Defined, Prepared: true, Failure: "no such package"}
	with := func(change func(*plan.GridFacts)) plan.GridFacts {
		f := failed
		change(&f)
		return f
	}
	made := func(f *plan.GridFacts) { f.Made, f.Counts[jjm.New] = 1, 1 }
	for name, tt := range map[string]struct {
		facts plan.GridFacts
		want  plan.GridAction
	}{
		"it cannot be cut": {failed, plan.GridAction{Do: plan.RollBack, Status: jjm.Defined, Reason: "no such package"}},
		"it cannot be prepared": {with(func(f *plan.GridFacts) { f.Prepared, f.Status = false, jjm.Registered }),
			plan.GridAction{Do: plan.RollBack, Status: jjm.Registered, Reason: "no such package"}},
		"there is nothing to cut": {with(func(f *plan.GridFacts) { f.Failure, f.Closed = "", true }),
			plan.GridAction{Do: plan.RollBack, Status: jjm.Defined, Reason: "the grid job made no local jobs"}},
		"it is not to be kept": {with(func(f *plan.GridFacts) { f.Keep = false }),
			plan.GridAction{Do: plan.Collect, Status: jjm.Prepared}},
		"it has a local job": {with(made),
			plan.GridAction{Do: plan.KillLocals, Status: jjm.Ready, Reason: "no such package"}},
		"it is killed": {with(func(f *plan.GridFacts) { f.Kill = true }),
			plan.GridAction{Do: plan.Collect, Status: jjm.Aborting}},
		"it is kept": {plan.GridFacts{Keep: true, Kept: true, Status: jjm.Registered},
			plan.GridAction{Status: jjm.Registered}},
		"it is kept, and its owner pauses it": {
			plan.GridFacts{Keep: true, Kept: true, Status: jjm.Registered, Paused: "paused by alice"},
			plan.GridAction{Status: jjm.Registered}},
		"it is kept and killed": {plan.GridFacts{Keep: true, Kill: true, Status: jjm.Aborting},
			plan.GridAction{Do: plan.Collect, Status: jjm.Aborting}},
		"it is submitted again": {plan.GridFacts{Keep: true, Status: jjm.Registered},
			plan.GridAction{Do: plan.Prepare, Status: jjm.Registered}},
	} {
		if got := plan.Grid(tt.facts); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
