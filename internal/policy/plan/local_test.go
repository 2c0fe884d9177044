package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

const glfStart = "2008-03-13T13:00:00Z INFO job wrapper start attempt=0 host=wn1 pid=1\n"

func localInput() plan.LocalInput {
	return plan.LocalInput{
		Job: jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: 3}, State: jjm.Running, Attempt: 2, Exit: -1,
			Tag: "jabcd", Pos: 4, BatchID: "99", Host: "wn0", Submitted: 5, Started: 10},
		Result: jjm.ResultGLF, Now: 1_000_000, Backoff: plan.DefaultBackoff,
		Evidence: jjm.Evidence{Batch: jjm.Report{State: jjm.BatchEndedOK}, Result: localResult("SUCCEEDED -")},
	}
}

func localResult(line string) *jjm.Result {
	return &jjm.Result{Grid: 17, Local: 3, Attempt: 2, Started: 1000, Ended: 900_000,
		Claim: jjm.Claim{Host: "wn1", Holder: jjm.HolderWrapper},
		GLF:   glfStart + "2008-03-13T13:10:00Z " + line + "\n2008-03-13T13:10:01Z INFO job wrapper end exit=0\n"}
}

func TestLocal_VerdictsBecomeStates(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*plan.LocalInput)
		state   string
		attempt int32
		wait    time.Duration
	}{
		"succeeded": {func(*plan.LocalInput) {}, "completed", 2, 0},
		"failed": {func(in *plan.LocalInput) {
			in.Evidence.Result = localResult("FAILED x")
		}, "failed/application", 2, 0},
		"succeeded, an output lacks": {func(in *plan.LocalInput) { in.Lacks = "no merged file" }, "failed/application", 2, 0},
		"succeeded, to be merged":    {func(in *plan.LocalInput) { in.Merges = true }, "completing/merging", 2, 0},
		"succeeded, result spoiled": {func(in *plan.LocalInput) { in.Merges, in.Spoiled = true, "too large" },
			"failed/application", 2, 0},
		"succeeded, files gone": {func(in *plan.LocalInput) { in.Gone = "a.root cannot be read" }, "completed", 2, 0},
		"to be retried, an output lacks": {func(in *plan.LocalInput) {
			in.Evidence.Result, in.Lacks, in.Merges = localResult("RETRY x"), "no merged file", true
		}, "submitting/retry-wait", 3, 0},
		"to be retried, result spoiled": {func(in *plan.LocalInput) {
			in.Evidence.Result.Exit, in.Spoiled = 1, "too large"
		}, "failed/application", 2, 0},
		"to be retried, files gone": {func(in *plan.LocalInput) {
			in.Evidence.Result.Exit, in.Gone = 1, "a.root cannot be read"
		}, "failed/closed", 2, 0},
		"killed, spoiled, files gone": {func(in *plan.LocalInput) {
			in.Evidence = jjm.Evidence{Batch: jjm.Report{State: jjm.BatchCancelled}}
			in.Kill, in.Spoiled, in.Gone = true, "too large", "a.root cannot be read"
		}, "killed/cancelled", 2, 0},
		"asked for hold": {func(in *plan.LocalInput) {
			in.Evidence.Result = localResult("HOLD x")
		}, "held/application-hold", 2, 0},
		"asked for retry": {func(in *plan.LocalInput) {
			in.Evidence.Result = localResult("RETRY x")
		}, "submitting/retry-wait", 3, 0},
		"asked early": {func(in *plan.LocalInput) {
			in.Evidence.Result = localResult("RETRY x")
			soon(in)
		}, "submitting/retry-wait", 3, 0},
		"needs a retry": {func(in *plan.LocalInput) {
			in.Evidence.Result.Exit = 1
		}, "submitting/retry-wait", 3, 2 * time.Minute},
		"early, 4th time":  {func(in *plan.LocalInput) { neverStarted(in, 3) }, "submitting/retry-wait", 3, 16 * time.Minute},
		"early, 6th time":  {func(in *plan.LocalInput) { neverStarted(in, 5) }, "submitting/retry-wait", 3, time.Hour},
		"early, 20th time": {func(in *plan.LocalInput) { neverStarted(in, 19) }, "submitting/retry-wait", 3, time.Hour},
		"early, too often": {func(in *plan.LocalInput) { neverStarted(in, 20) }, "failed/limit", 2, 0},
		"no back-off": {func(in *plan.LocalInput) {
			neverStarted(in, 5)
			in.Backoff = 0
		}, "submitting/retry-wait", 3, 0},
		"the site's limit": {func(in *plan.LocalInput) {
			in.Evidence.Result.Exit = 1
			in.Site.LateUnhandled = new(int)
		}, "failed/limit", 2, 0},
		"the job's limit outranks the site's": {func(in *plan.LocalInput) {
			in.Evidence.Result.Exit = 1
			three := 3
			in.Site.LateUnhandled, in.Retry.LateUnhandled = new(int), &three
		}, "submitting/retry-wait", 3, 2 * time.Minute},
		"exit job": {func(in *plan.LocalInput) {
			in.Result = jjm.ResultExit
			in.Evidence.Result.Exit = 1
		}, "failed/application", 2, 0},
		"exit job with limits": {func(in *plan.LocalInput) {
			in.Result = jjm.ResultExit
			in.Evidence.Result.Exit = 1
			three := 3
			in.Retry.LateUnhandled = &three
		}, "submitting/retry-wait", 3, 2 * time.Minute},
		"exit job, the site has limits": {func(in *plan.LocalInput) {
			in.Result, in.Site = jjm.ResultExit, jjm.DefaultLimits()
			in.Evidence.Result.Exit = 1
		}, "failed/application", 2, 0},
		"killed": {func(in *plan.LocalInput) {
			in.Kill = true
			in.Evidence.Result.Exit = 143
		}, "killed/cancelled", 2, 0},
		"killed too late": {func(in *plan.LocalInput) { in.Kill = true }, "completed", 2, 0},
		"cancelled by someone": {func(in *plan.LocalInput) {
			in.Evidence.Batch.State = jjm.BatchCancelled
		}, "held/batch-cancel", 2, 0},
		"lost": {func(in *plan.LocalInput) {
			in.Lost = true
			in.Evidence = jjm.Evidence{HasGLF: true, GLF: glfStart}
		}, "submitting/retry-wait", 3, 2 * time.Minute},
		"the result of an earlier attempt": {func(in *plan.LocalInput) {
			in.Evidence.Result.Attempt = 1
			in.Evidence.Batch.State = jjm.BatchRunning
		},
			"running", 2, 0},
		"unknown": {func(in *plan.LocalInput) { in.Evidence = jjm.Evidence{} }, "running", 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := localInput()
			c.change(&in)
			d := plan.Local(in)
			var wait time.Duration
			if d.NotBefore != 0 {
				wait = d.NotBefore.Sub(in.Now)
			}
			if got := jjm.StateWord(d.State, d.Phase); got != c.state || d.Attempt != c.attempt || wait != c.wait {
				t.Errorf("%s, attempt %d, wait %s; want %s, %d, %s\n%s", got, d.Attempt, wait, c.state, c.attempt, c.wait,
					d.Verdict.Text)
			}
			if d.Over == (c.state == "running") {
				t.Errorf("over: %v", d.Over)
			}
		})
	}
}

// soon changes the facts so that the attempt ended in its first second.
func soon(in *plan.LocalInput) {
	r := in.Evidence.Result
	r.GLF = strings.NewReplacer("13:10:00Z", "13:00:00Z", "13:10:01Z", "13:00:01Z").Replace(r.GLF)
}

func neverStarted(in *plan.LocalInput, before int) {
	in.Job.Counters.Early = before
	in.Evidence = jjm.Evidence{Batch: jjm.Report{State: jjm.BatchEndedFailed, Exit: 7},
		Claim: &jjm.Claim{Holder: jjm.HolderDaemon}}
}

func TestLocal_ApplyNotesTheEndAndLeavesTheState(t *testing.T) {
	in := localInput()
	in.Evidence.Result.Exit = 1
	d := plan.Local(in)
	before, after := in.Job, in.Job
	d.Apply(&after)
	want := before
	want.Attempt, want.NotBefore, want.Counters = 3, d.NotBefore, jjm.Counters{LateUnhandled: 1}
	want.Ended, want.Exit, want.Message = 900_000, 1, d.Verdict.Text
	if diff := cmp.Diff(want, after); diff != "" {
		t.Error(diff)
	}
}

func TestLocal_WithoutAResultTheBatchSystemDecides(t *testing.T) {
	in := localInput()
	in.Evidence = jjm.Evidence{Batch: jjm.Report{State: jjm.BatchEndedFailed, Signal: 9, Host: "wn7", Started: 2000,
		Ended: 3000}}
	d := plan.Local(in)
	if d.Exit != 137 || d.Host != "wn7" || d.Started != 2000 || d.Ended != 3000 {
		t.Errorf("%+v", d)
	}
	in.Evidence, in.Lost = jjm.Evidence{}, true
	if d := plan.Local(in); d.Exit != -1 || d.Host != "wn0" || d.Started != 10 || d.Ended != in.Now {
		t.Errorf("lost: %+v", d)
	}
}

// The times and the host come from the batch system if it reports them, because the result is a file that the job's
// account can write.
func TestLocal_TheBatchSystemOutranksTheResult(t *testing.T) {
	absurd := func(in *plan.LocalInput) {
		r := in.Evidence.Result
		r.Started, r.Ended, r.Exit, r.Claim.Host, r.Claim.Batch = 1, 1<<52, 5, "elsewhere", "8"
	}
	silent := func(in *plan.LocalInput) { in.Job.Started, in.Job.Host = 0, "" }
	whole := jjm.Report{State: jjm.BatchEndedOK, Host: "wn7", Started: 2000, Ended: 3000}
	for name, c := range map[string]struct {
		batch          jjm.Report
		change         []func(*plan.LocalInput)
		started, ended jjm.Time
		host           string
		exit           int
	}{
		"all of it is the batch system's": {whole, nil, 2000, 3000, "wn7", 0},
		"whatever the result says":        {whole, []func(*plan.LocalInput){absurd}, 2000, 3000, "wn7", 5},
		"its listings said when and where": {jjm.Report{State: jjm.BatchEndedOK}, []func(*plan.LocalInput){
			absurd}, 10, 1_000_000, "wn0", 5},
		"it is silent, a result is all": {jjm.Report{}, []func(*plan.LocalInput){silent}, 1000, 900_000, "wn1", 0},
		"it is silent, the end is in between": {jjm.Report{}, []func(*plan.LocalInput){
			silent, absurd}, 1, 1_000_000, "elsewhere", 5},
		"it is silent, the end is not earlier": {jjm.Report{}, []func(*plan.LocalInput){
			silent, func(in *plan.LocalInput) { in.Evidence.Result.Ended = 7 }}, 1000, 1000, "wn1", 0},
	} {
		in := localInput()
		in.Evidence.Batch = c.batch
		for _, change := range c.change {
			change(&in)
		}
		if d := plan.Local(in); d.Started != c.started || d.Ended != c.ended || d.Host != c.host || d.Exit != c.exit {
			t.Errorf("%s: %v to %v on %q, exit code %d; want %v to %v on %q, %d", name,
				d.Started, d.Ended, d.Host, d.Exit, c.started, c.ended, c.host, c.exit)
		}
	}
}

func TestLocal_AJobCancelledBeforeItStartedHasNoExitCode(t *testing.T) {
	in := plan.LocalInput{Kill: true, Result: jjm.ResultExit, Now: 1000,
		Job: jjm.LocalJob{State: jjm.Submitted, Exit: -1},
		Evidence: jjm.Evidence{Batch: jjm.Report{State: jjm.BatchCancelled, Ended: 900},
			Claim: &jjm.Claim{Holder: jjm.HolderDaemon}}}
	if got := plan.Local(in); got.State != jjm.Killed || got.Exit != -1 {
		t.Errorf("state %v, exit %d: want killed, -1", got.State, got.Exit)
	}
	in.Evidence.Batch.Started, in.Evidence.Batch.Exit = 800, 7
	if got := plan.Local(in); got.Exit != 7 {
		t.Errorf("one that had started: exit %d, want 7", got.Exit)
	}
}
