package plan_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

func TestBackoff_StartsAtTheRunTimeAndDoubles(t *testing.T) {
	const m = time.Minute
	for name, c := range map[string]struct {
		f    plan.BackoffFacts
		want []time.Duration // the waits after failure 1, 2, ...
	}{
		"GBS's":       {plan.BackoffFacts{Unit: m}, []time.Duration{2 * m, 4 * m, 8 * m, 16 * m, 32 * m, 60 * m, 60 * m}},
		"ran seconds": {plan.BackoffFacts{Unit: m, Brief: true, Ran: 3e9}, []time.Duration{3e9, 6e9, 12e9, 24e9, 48e9}},
		"ran no time": {plan.BackoffFacts{Unit: m, Brief: true}, []time.Duration{1e9, 2e9, 4e9}},
		"a clock went back": {plan.BackoffFacts{Unit: m, Brief: true, Ran: -time.Hour},
			[]time.Duration{1e9, 2e9}},
		"ran minutes": {plan.BackoffFacts{Unit: m, Brief: true, Ran: 90e9},
			[]time.Duration{90e9, 180e9, 6 * m, 12 * m, 24 * m, 48 * m, 60 * m}},
		"ran hours": {plan.BackoffFacts{Unit: m, Brief: true, Ran: 5 * time.Hour}, []time.Duration{2 * m, 4 * m, 8 * m}},
		"the site waits seconds itself": {plan.BackoffFacts{Unit: time.Second, Brief: true, Ran: 30e9},
			[]time.Duration{2e9, 4e9, 8e9}},
		"disabled": {plan.BackoffFacts{Brief: true, Ran: 3e9}, []time.Duration{0, 0}},
	} {
		for k, want := range c.want {
			if c.f.Failures = k + 1; plan.Backoff(c.f) != want {
				t.Errorf("%s: %v after failure %d, want %v", name, plan.Backoff(c.f), k+1, want)
			}
		}
	}
	if got := plan.Backoff(plan.BackoffFacts{Unit: m}); got != 0 {
		t.Errorf("an end that counts nowhere waits %v", got)
	}
}

// The wait never shrinks from one failure to the next, and is never longer than the wait that GBS prescribes. It is 0
// only if the site configures 0.
func TestBackoff_GrowsWithinGBSs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := plan.BackoffFacts{Unit: time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "unit")),
			Failures: rapid.IntRange(1, 1000).Draw(t, "failures"), Brief: true,
			Ran: time.Duration(rapid.Int64().Draw(t, "ran"))}
		brief := plan.Backoff(f)
		whole := f
		whole.Brief = false
		next := f
		next.Failures++
		if brief <= 0 || brief > plan.Backoff(whole) || plan.Backoff(next) < brief {
			t.Fatalf("%v, then %v; GBS's is %v", brief, plan.Backoff(next), plan.Backoff(whole))
		}
	})
}

// If the job type has the result exit and the application caused the end, the first wait is the run time of the
// attempt. If the job type has the result glf, or if the batch system or the wrapper caused the end, the wait is that
// of GBS.
func TestLocal_BackoffIsTheRunTime(t *testing.T) {
	asks := jjm.Retries{OnExit: []int{0, 1, 126}, Limits: jjm.DefaultLimits()}
	for name, c := range map[string]struct {
		change func(*plan.LocalInput)
		wait   time.Duration
	}{
		"exit":        {func(*plan.LocalInput) {}, 7 * time.Second},
		"exit, again": {func(in *plan.LocalInput) { in.Job.Counters.Early = 2 }, 28 * time.Second},
		"glf":         {func(in *plan.LocalInput) { in.Result = jjm.ResultGLF }, 2 * time.Minute},
		"out of memory": {func(in *plan.LocalInput) { in.Evidence.Batch.State = jjm.BatchOOM },
			7 * time.Second},
		"aborted":         {func(in *plan.LocalInput) { in.Evidence.Batch.State = jjm.BatchAborted }, 2 * time.Minute},
		"wrapper trouble": {func(in *plan.LocalInput) { in.Evidence.Result.Error = "disk full" }, 2 * time.Minute},
		"never started":   {func(in *plan.LocalInput) { neverStarted(in, 0) }, 2 * time.Minute},
		"asked for":       {func(in *plan.LocalInput) { in.Evidence.Result = localResult("RETRY x"); soon(in) }, 0},
		"given up for its hold": {func(in *plan.LocalInput) {
			in.Retry.OnExit = nil
			in.GiveUp = &jjm.Holding{Action: jjm.HoldRetry, Retries: 1}
		}, 2 * time.Minute},
	} {
		in := localInput()
		in.Result, in.Retry = jjm.ResultExit, asks
		in.Evidence.Result = localResult("INFO x")
		in.Evidence.Result.Exit, in.Evidence.Result.Started, in.Evidence.Result.Ended = 1, 1000, 8000
		soon(&in)
		c.change(&in)
		d := plan.Local(in)
		if d.State != jjm.Submitting {
			t.Fatalf("%s: %s", name, d.Verdict.Text)
		}
		var wait time.Duration
		if d.NotBefore != 0 {
			wait = d.NotBefore.Sub(in.Now)
		}
		if wait != c.wait {
			t.Errorf("%s: waits %v, want %v: %s", name, wait, c.wait, d.Verdict.Text)
		}
	}
}
