package plan

import (
	"strings"
	"testing"

	"jjm/internal/jjm"
)

func TestFreeze_Table(t *testing.T) {
	const done, failed = jjm.CompletedFrozen, jjm.FailedFrozen
	for _, c := range []struct {
		state     jjm.State
		phase     jjm.Phase
		frozen    jjm.State
		no        string // "" = it can be frozen
		unfrozen  jjm.State
		stillHeld string // "" = it can be unfrozen
	}{
		{jjm.New, "", jjm.New, "it is new: only a local job that is over", jjm.New, "it is new: only a frozen"},
		{jjm.Running, "", jjm.Running, "it is running", jjm.Running, "it is running"},
		{jjm.Completing, jjm.Merging, jjm.Completing, "completing/merging", jjm.Completing,
			"completing/merging"},
		{jjm.Held, jjm.HeldByApp, jjm.Held, "held/application-hold", jjm.Held, "only a frozen"},
		{jjm.Completed, "", done, "", jjm.Completed, ""},
		{jjm.Completed, jjm.Forced, done, "", jjm.Completed, ""},
		{jjm.Failed, jjm.ByApp, failed, "", jjm.Failed, ""},
		{jjm.Killed, jjm.ByPerson, failed, "", jjm.Killed, "only a frozen local job can be unfrozen"},
		{jjm.Failed, jjm.GivenBack, jjm.Failed, "given back", jjm.Failed, ""},
		{done, "", done, "", jjm.Completed, ""},
		{failed, jjm.ByPerson, failed, "", jjm.Failed, ""},
		{failed, jjm.GivenBack, failed, "", failed, "given back"},
	} {
		l := &jjm.LocalJob{State: c.state, Phase: c.phase}
		to, why := Freeze(l)
		if to != c.frozen || (why == "") != (c.no == "") || !strings.Contains(why, c.no) {
			t.Errorf("freeze %s/%s: %s, %q", c.state, c.phase, to, why)
		}
		to, why = Unfreeze(l)
		if to != c.unfrozen || (why == "") != (c.stillHeld == "") || !strings.Contains(why, c.stillHeld) {
			t.Errorf("unfreeze %s/%s: %s, %q", c.state, c.phase, to, why)
		}
	}
}

// A resubmission leaves a frozen local job unchanged, whether the request names the local job or its grid job.
func TestResubmit_LeavesFrozenLocalJobs(t *testing.T) {
	f := ResubmitFacts{Whole: true, All: true, Locals: []jjm.LocalJob{
		{State: jjm.FailedFrozen, Phase: jjm.ByApp, Tag: "a"},
		{ID: jjm.LocalID{Grid: 7, N: 1}, State: jjm.CompletedFrozen, Tag: "a"},
		{ID: jjm.LocalID{Grid: 7, N: 2}, State: jjm.Failed, Tag: "a"}}}
	if again, left := Resubmit(f); len(again) != 1 || again[0] != 2 || len(left) != 0 {
		t.Errorf("whole: %v, %v", again, left)
	}
	f.Named = func(n int32) bool { return n == 1 }
	_, left := Resubmit(f)
	if len(left) != 1 || left[0].Why != "it is completed_frozen: unfreeze it first (jjm unfreeze 7.1)" {
		t.Errorf("named: %v", left)
	}
}

// Frozen local jobs that failed do not count for the limits of automatic resubmissions and kills, and are not
// resubmitted.
func TestAgain_LeavesFrozenLocalJobs(t *testing.T) {
	f := AgainFacts{Wanted: true, Rules: AgainRules{Most: 5, FailedShare: 0.5}, Locals: []jjm.LocalJob{
		{State: jjm.FailedFrozen, Tag: "a"}, {ID: jjm.LocalID{N: 1}, State: jjm.Failed, Tag: "a"},
		{ID: jjm.LocalID{N: 2}, State: jjm.CompletedFrozen}, {ID: jjm.LocalID{N: 3}, State: jjm.Completed}}}
	for i := range f.Locals {
		f.Counts[f.Locals[i].State]++
	}
	if run, stopped := Again(f); len(run) != 1 || run[0] != 1 || len(stopped) != 0 {
		t.Errorf("%v, %v", run, stopped)
	}
	if why := AutoKill(1, f.Counts, false); why != "" {
		t.Errorf("killed: %s", why)
	}
}

// A frozen local job that completed counts for the end of its grid job. The work of a frozen local job that failed
// counts as not done.
func TestFinal_CountsFrozenLocalJobs(t *testing.T) {
	f := GridFacts{EverSubmitted: true, Recorded: 3}
	f.Counts[jjm.Completed], f.Counts[jjm.CompletedFrozen] = 1, 2
	if got, why := Final(f); got != jjm.Done || why != "" {
		t.Errorf("all completed: %s, %q", got, why)
	}
	f.Counts[jjm.FailedFrozen] = 1
	if got, why := Final(f); got != jjm.Finished || why != "3 of 4 local jobs done, 1 failed_frozen" {
		t.Errorf("one failed: %s, %q", got, why)
	}
	f.Counts[jjm.Completed], f.Counts[jjm.CompletedFrozen] = 0, 0
	if got, _ := Final(f); got != jjm.GridFailed {
		t.Errorf("only failed: %s", got)
	}
}
