package plan

import (
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// The table has every state and every phase that matters. Each of these local jobs is forced to failed and to
// completed.
func TestForce_Table(t *testing.T) {
	const no, same, move, kill, end = ForceRefused, ForceNothing, ForceMove, ForceKill, ForceEnd
	for _, c := range []struct {
		state  jjm.State
		phase  jjm.Phase
		failed ForceDo // the result if it is forced to failed without Now
		now    ForceDo // the result if it is forced to failed with Now
		done   ForceDo // the result if it is forced to completed
	}{
		{jjm.New, "", no, no, no},
		{jjm.Submitting, jjm.Spooled, kill, kill, no},
		{jjm.Submitting, jjm.RetryWait, kill, kill, no},
		{jjm.Submitted, jjm.Queued, kill, end, no},
		{jjm.Running, "", kill, end, no},
		{jjm.Completing, jjm.Merging, kill, kill, no},
		{jjm.Completed, "", move, move, same},
		{jjm.Completed, jjm.Forced, move, move, same},
		{jjm.Failed, jjm.ByApp, same, same, move},
		{jjm.Failed, jjm.Forced, same, same, move},
		{jjm.Failed, jjm.GivenBack, same, same, no},
		{jjm.Killed, jjm.ByPerson, move, move, no},
		{jjm.Killed, jjm.GivenBack, no, no, no},
		{jjm.Held, jjm.HeldByApp, no, no, no},
		{jjm.CompletedFrozen, "", no, no, no},
		{jjm.FailedFrozen, jjm.Forced, no, no, no},
	} {
		l := &jjm.LocalJob{State: c.state, Phase: c.phase}
		for _, f := range []struct {
			facts ForceFacts
			want  ForceDo
		}{
			{ForceFacts{Job: l, To: jjm.Failed}, c.failed},
			{ForceFacts{Job: l, To: jjm.Failed, Now: true}, c.now},
			{ForceFacts{Job: l, To: jjm.Completed}, c.done},
			{ForceFacts{Job: l, To: jjm.Completed, Now: true}, c.done},
		} {
			do, why := Force(f.facts)
			if do != f.want || (why == "") != (do != no) {
				t.Errorf("%s to %s, now %v: %d, %q; want %d", jjm.StateWord(c.state, c.phase), f.facts.To, f.facts.Now, do,
					why, f.want)
			}
		}
	}
}

// Force refuses to change the state of a local job whose result is merged or published.
func TestForce_KeepsMergedAndPublishedResults(t *testing.T) {
	completed := &jjm.LocalJob{State: jjm.Completed}
	failed := &jjm.LocalJob{State: jjm.Failed}
	forced := &jjm.LocalJob{State: jjm.Completed, Phase: jjm.Forced}
	for name, c := range map[string]struct {
		facts ForceFacts
		why   string // "" = its state changes
	}{
		"merged":           {ForceFacts{Job: completed, To: jjm.Failed, Merges: true}, "merges outputs"},
		"to be merged":     {ForceFacts{Job: failed, To: jjm.Completed, Merges: true}, "merges outputs"},
		"reads a dataset":  {ForceFacts{Job: completed, To: jjm.Failed, Reads: true}, "jjm retract"},
		"fills a dataset":  {ForceFacts{Job: completed, To: jjm.Failed, Publishes: true}, "jjm retract"},
		"forced, reads":    {ForceFacts{Job: forced, To: jjm.Failed, Reads: true, Publishes: true}, ""},
		"failed, reads":    {ForceFacts{Job: failed, To: jjm.Completed, Reads: true, Publishes: true}, ""},
		"nothing to merge": {ForceFacts{Job: completed, To: jjm.Failed}, ""},
	} {
		do, why := Force(c.facts)
		if (do == ForceMove) != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %d, %q", name, do, why)
		}
	}
}

// A local job that was forced to failed is first killed. While it is being killed, a second request changes nothing,
// unless the second request says that jjm must not wait for the kill.
func TestForce_TwiceIsOnce(t *testing.T) {
	l := &jjm.LocalJob{State: jjm.Running, Kill: true, Failing: "forced to failed by alice"}
	if do, why := Force(ForceFacts{Job: l, To: jjm.Failed}); do != ForceNothing || why != "" {
		t.Errorf("%d, %q", do, why)
	}
	if do, _ := Force(ForceFacts{Job: l, To: jjm.Failed, Now: true}); do != ForceEnd {
		t.Errorf("with Now: %d", do)
	}
}

// A grid job with a forced local job is never done, and its reason names the forced local job.
func TestFinal_AForcedLocalJobKeepsItFromDone(t *testing.T) {
	f := GridFacts{EverSubmitted: true, Recorded: 3}
	f.Counts[jjm.Completed] = 3
	if got, why := Final(f); got != jjm.Done {
		t.Fatalf("without a forced one: %s, %s", got, why)
	}
	f.Forced = 1
	if got, why := Final(f); got != jjm.Finished || !strings.Contains(why, "1 of the completed local jobs forced by") {
		t.Errorf("%s, %q", got, why)
	}
}

// A local job that a person forced to failed is never resubmitted automatically.
func TestAgain_LeavesForcedLocalJobs(t *testing.T) {
	f := AgainFacts{Wanted: true, Rules: AgainRules{Most: 5, FailedShare: 1}, Locals: []jjm.LocalJob{
		{State: jjm.Failed, Phase: jjm.Forced, Tag: "a"}, {ID: jjm.LocalID{N: 1}, State: jjm.Failed,
			Phase: jjm.ByApp, Tag: "a"},
		{ID: jjm.LocalID{N: 2}, State: jjm.Completed}}}
	f.Counts[jjm.Failed], f.Counts[jjm.Completed] = 2, 1
	if run, stopped := Again(f); len(run) != 1 || run[0] != 1 || len(stopped) != 0 {
		t.Errorf("%v, %v", run, stopped)
	}
}
