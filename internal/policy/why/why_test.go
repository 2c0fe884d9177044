package why_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/why"
)

// phases are the phases that drawn draws for unfinished local jobs; "" means no phase.
var phases = []jjm.Phase{"", jjm.Doubtful, jjm.RetryWait, jjm.Spooled, jjm.Queued, jjm.BatchHeld, jjm.Starting,
	jjm.Merging, jjm.HeldByApp, jjm.HeldByBatch}

// drawn draws the facts about an unfinished local job.
func drawn(t *rapid.T) why.Facts {
	l := &jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: 3},
		Cluster: rapid.SampledFrom([]string{"", "slurm"}).Draw(t, "cluster"),
		State: rapid.SampledFrom([]jjm.State{jjm.New, jjm.Submitting, jjm.Submitted, jjm.Running, jjm.Completing,
			jjm.Held}).Draw(t, "state"),
		Phase: rapid.SampledFrom(phases).Draw(t, "phase"), Kill: rapid.Bool().Draw(t, "kill"),
		NotBefore: jjm.Time(rapid.IntRange(0, 2000).Draw(t, "not before")),
	}
	if l.State == jjm.Held || rapid.Bool().Draw(t, "was held") {
		l.Holding = &jjm.Holding{Since: 7,
			By: rapid.SampledFrom([]string{jjm.HeldApplication, jjm.HeldBatchSystem, jjm.HeldOperator}).Draw(t, "by")}
	}
	if rapid.Bool().Draw(t, "waits") {
		l.Waits = &jjm.Waiting{Source: "squeue",
			Reason: rapid.SampledFrom([]string{"", "Resources", "PartitionTimeLimit"}).Draw(t, "reason")}
	}
	f := why.Facts{Local: l, Now: 1000, Unsent: l.State == jjm.New || l.Phase == jjm.RetryWait,
		Gone: rapid.Bool().Draw(t, "gone"), Missing: jjm.Time(rapid.IntRange(0, 1).Draw(t, "missing"))}
	if f.Unsent && rapid.Bool().Draw(t, "kept") {
		f.Kept = why.Cause{Code: why.Limit, Text: "max_running of cluster slurm (10 of 10)"}
	}
	if rapid.Bool().Draw(t, "unjudged") {
		f.Unjudged = why.Cause{Text: "its end cannot be stored: no space", Since: 5}
	}
	if f.Local.Kill && rapid.Bool().Draw(t, "cancel fails") {
		f.CancelErr = why.Cause{Text: "no permission", Since: 5}
	}
	if rapid.Bool().Draw(t, "silent") {
		f.Silent = why.Cause{Text: "connection refused", Since: 5}
	}
	return f
}

// Every unfinished local job has a cause from the list. The cause has a text, unless the holder of a held local job
// named no reason.
func TestProperty_EveryLocalJobHasACause(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := why.Of(drawn(t))
		if !slices.Contains(why.Codes(), c.Code) || c.Code != why.HeldByApp && c.Code != why.HeldByPerson && c.Text == "" {
			t.Fatalf("cause %+v", c)
		}
	})
}

// Groups judges local jobs that are alike once. The result is the same as if each local job were judged alone.
func TestProperty_JudgingPilesEqualsJudgingOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := rapid.SliceOfN(rapid.Custom(drawn), 1, 12).Draw(t, "facts")
		locals := make([]jjm.LocalJob, rapid.IntRange(1, 60).Draw(t, "local jobs"))
		own := map[int32]*why.Own{}
		for n := range locals {
			f := rapid.SampledFrom(facts).Draw(t, "as")
			locals[n] = varied(t, *f.Local, n)
			if one := (why.Own{Missing: f.Missing, Unjudged: f.Unjudged, CancelErr: f.CancelErr}); one != (why.Own{}) {
				own[int32(n)] = &one
			}
		}
		judge := why.Judge{Now: facts[0].Now, Own: func(l *jjm.LocalJob) *why.Own { return own[l.ID.N] },
			Of: func(l *jjm.LocalJob, own *why.Own) why.Cause { return why.Of(surrounded(l, own, facts[0])) }}
		var want why.Groups
		left := 0
		for n := range locals {
			if l := &locals[n]; !l.Over() {
				left++
				want.Add(l.ID, judge.Cause(l))
			}
		}
		got, unfinished := judge.Groups(locals)
		all, leftOut := got.All(5)
		wantAll, wantLeft := want.All(5)
		if !slices.Equal(all, wantAll) || leftOut != wantLeft || unfinished != left {
			t.Fatalf("got %+v, %d left out, %d unfinished\nwant %+v, %d left out, %d unfinished", all, leftOut, unfinished,
				wantAll, wantLeft, left)
		}
	})
}

// varied returns a copy of a local job that differs in its number, its times and what rarely decides its cause.
func varied(t *rapid.T, l jjm.LocalJob, n int) jjm.LocalJob {
	moment := func(name string) jjm.Time { return jjm.Time(rapid.IntRange(0, 4).Draw(t, name)) }
	word := func(name string) string { return rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, name) }
	l.ID.N, l.Submitted, l.Started, l.Ended = int32(n), moment("submitted"), moment("started"), moment("ended")
	l.Since, l.Suspended = 1+moment("since"), moment("suspended")
	l.Place, l.Tag, l.Host, l.Message = int32(moment("place")), jjm.Tag(word("tag")), word("host"), word("message")
	l.BatchID, l.Progress.Phase = word("batch id"), word("progress")
	if l.Kill {
		l.Failing = word("failing")
	}
	if rapid.IntRange(0, 9).Draw(t, "over") == 0 {
		l.State = jjm.Completed
	}
	if l.Holding != nil {
		l.Holding = &jjm.Holding{By: l.Holding.By, Since: moment("held"), Text: word("text"), Code: word("code"),
			Why: word("why"), Action: jjm.HoldAction(rapid.SampledFrom([]string{"", "keep"}).Draw(t, "action"))}
	}
	if l.Waits != nil {
		l.Waits = &jjm.Waiting{Reason: l.Waits.Reason, Source: word("source"), Starts: moment("starts")}
	}
	return l
}

// surrounded returns the facts about a local job on a site whose places, clusters and bulks differ.
func surrounded(l *jjm.LocalJob, own *why.Own, site why.Facts) why.Facts {
	f := why.Facts{Local: l, Now: site.Now, Unsent: l.State == jjm.New || l.Phase == jjm.RetryWait}
	if f.Unsent && l.Place < 3 {
		f.Kept = why.Cause{Code: why.Limit, Text: string('p' + l.Place), Since: jjm.Time(l.Place)}
	}
	if f.Unsent || l.Cluster == "" {
		return f
	}
	f.Gone, f.Silent = site.Gone, site.Silent
	if own != nil {
		f.Missing, f.Unjudged, f.CancelErr = own.Missing, own.Unjudged, own.CancelErr
	}
	if l.State == jjm.Submitting && l.Tag == "a" {
		f.Refused = why.Cause{Code: why.SubmitFailing, Text: "refused", Since: 3}
	}
	return f
}

// A grid job that has no unfinished local job has a cause for the whole grid job.
func TestProperty_AGridJobWithoutLocalJobsHasACause(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := why.GridFacts{ID: 17, Status: jjm.GridStatus(rapid.IntRange(0, jjm.NumGridStatuses-1).Draw(t, "status")),
			Reopening: rapid.Bool().Draw(t, "reopening"), Prepared: rapid.Bool().Draw(t, "prepared"),
			Closed: rapid.Bool().Draw(t, "closed")}
		c, any := why.OfGrid(f)
		if !any || !slices.Contains(why.GridCodes(), c.Code) {
			t.Fatalf("%+v: cause %+v, %t", f, c, any)
		}
	})
}

func TestOf(t *testing.T) {
	id := jjm.LocalID{Grid: 17, N: 3}
	waits := func(reason string) *jjm.LocalJob {
		return &jjm.LocalJob{ID: id, State: jjm.Submitted, Phase: jjm.Queued, Cluster: "slurm", Submitted: 3,
			Waits: &jjm.Waiting{Reason: reason, Source: "squeue", Starts: 99}}
	}
	held := func(by string) *jjm.LocalJob {
		return &jjm.LocalJob{ID: id, State: jjm.Held, Holding: &jjm.Holding{By: by, Text: "no disk", Since: 8}}
	}
	limit := why.Cause{Code: why.Limit, Text: "max_running of cluster slurm (10 of 10)"}
	wn13 := jjm.Exclusion{Cluster: "slurm", Host: "wn13", By: "root", Since: 2, Reason: "eats jobs"}
	limitNoted := limit
	limitNoted.Text += "; nothing to do: jjm submits it by itself as other local jobs end"
	for name, test := range map[string]struct {
		f    why.Facts
		want why.Cause
	}{
		"a pending reason": {why.Facts{Local: waits("Resources")},
			why.Cause{Code: why.Queued, Text: "Resources (squeue)", Since: 3, Until: 99}},
		"a reason that stays": {why.Facts{Local: waits("PartitionTimeLimit")},
			why.Cause{Code: why.Stuck, Text: "PartitionTimeLimit (squeue)", Since: 3, Until: 99,
				Remedy: "it asks for more walltime than the partition allows: ask for less, or change it"}},
		"a limit of each job": {why.Facts{Local: waits("QOSMaxWallDurationPerJobLimit")},
			why.Cause{Code: why.Stuck, Text: "QOSMaxWallDurationPerJobLimit (squeue)", Since: 3, Until: 99,
				Remedy: "it asks for more walltime than QOS (the usual one) allows one job: ask for less, or an administrator " +
					"of Slurm runs sacctmgr modify qos NAME set MaxWall=TIME"}},
		"a node that a reservation keeps": {why.Facts{Local: waits("ReqNodeNotAvail, UnavailableNodes:n1")},
			why.Cause{Code: why.Queued, Text: "ReqNodeNotAvail, UnavailableNodes:n1 (squeue)", Since: 3, Until: 99}},
		"no node fits beside an excluded host": {
			why.Facts{Local: waits("BadConstraints"), Excluded: []jjm.Exclusion{wn13}},
			why.Cause{Code: why.Stuck, Since: 3, Until: 99, Text: "BadConstraints (squeue); cluster slurm has 1 excluded " +
				"host: jjm exclude --list; that may be why: host wn13 is excluded from cluster slurm by root " +
				"since " + wn13.Since.Local() + " until somebody includes it: eats jobs", Remedy: "if it fits only excluded hosts, an administrator runs jjm " +
				"include HOST; then jjm hold 17.3 and jjm release 17.3 submit it again with that host; else: no node fits " +
				"what it asks for: change its features, cores or memory"}},
		"other reasons beside an excluded host": {why.Facts{Local: waits("Resources"), Excluded: []jjm.Exclusion{wn13}},
			why.Cause{Code: why.Queued, Since: 3, Until: 99,
				Text: "Resources (squeue); cluster slurm has 1 excluded host: jjm exclude --list"}},
		"a limit that ends of other jobs lift": {why.Facts{Local: waits("QOSMaxJobsPerUserLimit")},
			why.Cause{Code: why.Queued, Text: "QOSMaxJobsPerUserLimit (squeue)", Since: 3, Until: 99,
				Remedy: "limit MaxJobsPerUser of QOS (the usual one): it goes on by itself as other jobs there end; to raise " +
					"the limit, an administrator of Slurm runs sacctmgr modify qos NAME set MaxJobsPerUser=NUMBER"}},
		"a limit of a named account": {why.Facts{Local: waits("(AssocGrpJobsLimit)"), Names: why.Names{Account: "eight"}},
			why.Cause{Code: why.Queued, Text: "(AssocGrpJobsLimit) (squeue)", Since: 3, Until: 99,
				Remedy: "limit GrpJobs of account eight: it goes on by itself as other jobs there end; to raise " +
					"the limit, an administrator of Slurm runs sacctmgr modify account eight set GrpJobs=NUMBER"}},
		"a cluster that does not answer": {why.Facts{Local: waits("Resources"),
			Silent: why.Cause{Text: "connection refused", Since: 5, Remedy: "ping it"}},
			why.Cause{Code: why.Unknown, Text: "cluster slurm answers no listing, and the local job goes on meanwhile: " +
				"connection refused", Since: 5, Remedy: "ping it"}},
		"held by the application": {why.Facts{Local: held(jjm.HeldApplication)},
			why.Cause{Code: why.HeldByApp, Text: "no disk", Since: 8, Remedy: "jjm release 17.3"}},
		"held by the batch system": {why.Facts{Local: held(jjm.HeldBatchSystem)},
			why.Cause{Code: why.HeldByBatch, Text: "no disk", Since: 8,
				Remedy: "remove its cause, then jjm release 17.3"}},
		"a back-off before a limit": {why.Facts{Local: &jjm.LocalJob{ID: id, State: jjm.Submitting, Phase: jjm.RetryWait,
			NotBefore: 50, Ended: 4, Message: "exit code 3"}, Now: 40, Unsent: true, Kept: limit},
			why.Cause{Code: why.BackOff, Text: "tried again after: exit code 3; nothing to do: jjm submits it again by " +
				"itself at that time", Since: 4, Until: 50}},
		"a lost answer": {why.Facts{Handed: 7, Local: &jjm.LocalJob{ID: id, State: jjm.Submitting, Phase: jjm.Doubtful,
			Cluster: "slurm"}},
			why.Cause{Code: why.Doubtful, Since: 7, Text: "the answer to its submission was lost; jjm searches " +
				"cluster slurm for it, and submits it again only when it is proven not to be there; nothing to do: jjm repeats " +
				"the search by itself"}},
		"a lost answer, and a search since": {why.Facts{Handed: 9, Local: &jjm.LocalJob{ID: id, State: jjm.Submitting,
			Phase: jjm.Doubtful, Cluster: "slurm", Since: 7}},
			why.Cause{Code: why.Doubtful, Since: 7, Text: "the answer to its submission was lost; jjm searches " +
				"cluster slurm for it, and submits it again only when it is proven not to be there; nothing to do: jjm repeats " +
				"the search by itself"}},
		"a cluster that is gone": {why.Facts{Gone: true, Local: waits("Resources")},
			why.Cause{Code: why.ClusterGone, Text: "cluster slurm has left the configuration",
				Remedy: "put its [[cluster]] back and start the daemon again"}},
		"a limit with a remedy": {why.Facts{Local: &jjm.LocalJob{ID: id, Since: 4}, Now: 60, Unsent: true,
			Kept: why.Cause{Code: why.Limit, Text: "x", Since: 9, Remedy: "raise it"}},
			why.Cause{Code: why.Limit, Text: "x", Since: 9, Remedy: "raise it"}},
		"a limit after the back-off": {why.Facts{Local: &jjm.LocalJob{ID: id, State: jjm.Submitting, Phase: jjm.RetryWait,
			NotBefore: 50}, Now: 60, Unsent: true, Kept: limit}, limitNoted},
		"a limit since the back-off": {why.Facts{Local: &jjm.LocalJob{ID: id, State: jjm.Submitting, Phase: jjm.RetryWait,
			Since: 4, NotBefore: 50}, Now: 60, Unsent: true, Kept: limit},
			why.Cause{Code: why.Limit, Text: limitNoted.Text, Since: 50}},
		"a limit that began later": {why.Facts{Local: &jjm.LocalJob{ID: id, Since: 4}, Now: 60, Unsent: true,
			Kept: why.Cause{Code: why.Limit, Text: limit.Text, Since: 9}},
			why.Cause{Code: why.Limit, Text: limitNoted.Text, Since: 9}},
		"nothing keeps it": {why.Facts{Local: &jjm.LocalJob{ID: id, Since: 4}, Now: 60, Unsent: true},
			why.Cause{Code: why.Next, Text: "it is submitted with one of the next bulks", Since: 4}},
		"starting": {why.Facts{Local: &jjm.LocalJob{ID: id, State: jjm.Submitted, Phase: jjm.Starting, Submitted: 3,
			Since: 6}},
			why.Cause{Code: why.Starting, Text: "the batch system is starting it", Since: 6}},
		"running": {why.Facts{Local: &jjm.LocalJob{ID: id, State: jjm.Running, Cluster: "slurm", Host: "node7", Started: 6,
			Progress: jjm.Progress{Phase: "simulate", Done: 117, Total: 250}}},
			why.Cause{Code: why.Running, Text: "it runs on node7, simulate 117 of 250", Since: 6}},
		"a kill while running": {why.Facts{Local: &jjm.LocalJob{ID: id, State: jjm.Running, Kill: true, Since: 6}},
			why.Cause{Code: why.Killing, Since: 6, Text: "it ends as soon as its batch system no longer has it; " +
				"nothing to do: jjm repeats the cancel by itself until then"}},
		"a kill whose cancel fails": {why.Facts{Local: &jjm.LocalJob{ID: id, State: jjm.Running, Kill: true, Since: 6},
			CancelErr: why.Cause{Text: "no permission", Since: 60_000, Remedy: "mend it"}},
			why.Cause{Code: why.Killing, Since: 6, Remedy: "mend it", Text: "its cancel has failed since " +
				jjm.Time(60_000).Local() + ": no permission; jjm repeats it by itself"}},
	} {
		if got := why.Of(test.f); got != test.want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, test.want)
		}
	}
}

// The remedy for a refused submission names the limit, its owner, and the command that raises it.
func TestOnRefusal(t *testing.T) {
	names := why.Names{QOS: "ten", Account: "eight", User: "ann"}
	for text, want := range map[string][2]string{
		"sbatch: exit 1: sbatch: error: AssocMaxSubmitJobLimit sbatch: error: Batch job": {
			"limit MaxSubmitJobs of user ann in account eight: ",
			"sacctmgr modify user ann where account=eight set MaxSubmitJobs=NUMBER"},
		"QOSMaxSubmitJobPerUserLimit; accounting allows 10": {"limit MaxSubmitJobsPerUser of QOS ten: ",
			"sacctmgr modify qos ten set MaxSubmitJobsPerUser=NUMBER"},
		"error:AssocGrpSubmitJobsLimit": {"limit GrpSubmitJobs of account eight: ",
			"sacctmgr modify account eight set GrpSubmitJobs=NUMBER"},
		"PartitionDown": {}, "simulated: at most 3 jobs": {},
	} {
		got := why.OnRefusal(text, names)
		if !strings.HasPrefix(got, want[0]) || !strings.HasSuffix(got, want[1]) || want[0] == "" && got != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// OfEnded describes how a local job ended, and names the command that runs it again.
func TestOfEnded(t *testing.T) {
	id := jjm.LocalID{Grid: 17, N: 3}
	for _, test := range []struct {
		l            jjm.LocalJob
		text, remedy string
	}{
		{jjm.LocalJob{State: jjm.Completed}, "it is over: completed", ""},
		{jjm.LocalJob{State: jjm.Failed, Phase: jjm.ByApp, Message: "exit code 3"},
			"it is over: failed/application: exit code 3", "jjm explain 17.3 tells why, jjm resubmit 17.3 runs it again"},
		{jjm.LocalJob{State: jjm.Failed, Phase: jjm.GivenBack}, "it is over: failed/given-back", ""},
		{jjm.LocalJob{State: jjm.Killed, Phase: jjm.ByPerson}, "it is over: killed/cancelled",
			"jjm resubmit 17.3 runs it again"},
		{jjm.LocalJob{State: jjm.Killed, Phase: jjm.GivenBack}, "it is over: killed/given-back", ""},
	} {
		test.l.ID, test.l.Ended = id, 8
		want := why.Cause{Code: why.Over, Text: test.text, Since: 8, Remedy: test.remedy}
		if got := why.OfEnded(&test.l); got != want {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
}

// A group has the earliest Since and Until, and the first local job, of its causes. Groups that need a person come
// first.
func TestGroups(t *testing.T) {
	var gs why.Groups
	id := func(n int32) jjm.LocalID { return jjm.LocalID{Grid: 17, N: n} }
	for n := range int32(5) {
		gs.Add(id(n), why.Cause{Code: why.Running, Text: "it runs on node" + string(rune('0'+n)), Since: jjm.Time(10 - n)})
	}
	gs.Add(id(5), why.Cause{Code: why.HeldByApp, Text: "no disk", Since: 3, Remedy: "jjm release 17.5"})
	gs.Add(id(6), why.Cause{Code: why.BackOff, Text: "x", Until: 30})
	gs.Add(id(7), why.Cause{Code: why.BackOff, Text: "x", Until: 20})
	all, left := gs.All(2)
	if len(all) != 2 || left != 2 || all[0].Code != why.HeldByApp || all[1].Jobs != 5 || all[1].Text != "they run" ||
		all[1].Since != 6 || all[1].First != id(0) {
		t.Errorf("%+v, %d left out", all, left)
	}
	if all, left = gs.All(9); left != 0 || all[2].Until != 20 || all[2].Jobs != 2 {
		t.Errorf("%+v, %d left out", all, left)
	}
}

// BenchmarkJudge_Groups judges 100 000 local jobs, of which half run and half wait for one of two reasons.
func BenchmarkJudge_Groups(b *testing.B) {
	locals := make([]jjm.LocalJob, 100_000)
	for n := range locals {
		l := &locals[n]
		*l = jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: int32(n)}, State: jjm.Running, Cluster: "slurm", Host: "node7",
			Submitted: 3, Started: jjm.Time(n)}
		if n%2 == 0 {
			l.State, l.Phase = jjm.Submitted, jjm.Queued
			l.Waits = &jjm.Waiting{Reason: []string{"Resources", "Priority"}[n/2%2], Source: "squeue"}
		}
	}
	judge := why.Judge{Of: func(l *jjm.LocalJob, _ *why.Own) why.Cause { return why.Of(why.Facts{Local: l}) }}
	b.Run("piles", func(b *testing.B) {
		for b.Loop() {
			judge.Groups(locals)
		}
	})
	b.Run("one by one", func(b *testing.B) {
		for b.Loop() {
			var gs why.Groups
			for n := range locals {
				gs.Add(locals[n].ID, judge.Cause(&locals[n]))
			}
		}
	})
}
