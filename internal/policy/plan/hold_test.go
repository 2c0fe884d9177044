package plan_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

const (
	held24h   = 24 * time.Hour
	heldBatch = jjm.HeldBatchSystem
)

func minutes(n int) jjm.Duration { return jjm.Duration(time.Duration(n) * time.Minute) }

func TestHold_Cases(t *testing.T) {
	site := []plan.HoldRule{
		{Kind: "condor", Code: "13/*", Do: "release", Times: 3, After: minutes(5)},
		{Kind: "condor", Code: "13/*", Do: "retry"},
		{Kind: "condor", Code: "13/*", Do: "fail"},
		{Text: regexp.MustCompile(`(?i)quota`), Do: "wait"},
		{Code: "Job*", By: "operator", Do: "release"},
		{Code: "JobHoldMaxRequeue", By: "any", Do: "fail"},
		{Text: regexp.MustCompile(`^$`), Code: "E", Do: "retry", Times: 2},
	}
	hold := func(kind, code, text string, age int, more ...func(*jjm.Holding)) plan.HoldFacts {
		h := jjm.Holding{By: plan.HeldBy(kind, code), Code: code, Text: text, Since: 1, Age: minutes(age)}
		for _, change := range more {
			change(&h)
		}
		return plan.HoldFacts{Kind: kind, Hold: h, Rules: site, MaxAge: held24h}
	}
	released := func(n, tried, at int) func(*jjm.Holding) {
		return func(h *jjm.Holding) { h.Releases, h.Tried, h.Acted = n, tried, minutes(at) }
	}
	retried := func(n int) func(*jjm.Holding) { return func(h *jjm.Holding) { h.Retries = n } }
	app := func(h *jjm.Holding) { h.By = jjm.HeldApplication }
	for name, c := range map[string]struct {
		facts plan.HoldFacts
		want  jjm.HoldAction
		why   string
	}{
		"too young": {hold("condor", "13/2", "no such file", 4), "", ""},
		"old enough": {hold("condor", "13/2", "no such file", 5), jjm.HoldRelease,
			"the rule for kind condor, code 13/* says release (1 of 3); held by the batch system: 13/2: no such file"},
		"of another kind": {hold("slurm", "13/2", "no such file", 5), "", ""},
		"released, and held anew": {hold("condor", "13/2", "", 5, released(2, 0, 0)), jjm.HoldRelease,
			"release (3 of 3)"},
		"released a moment ago": {hold("condor", "13/2", "", 9, released(1, 1, 5)), "", ""},
		"released, in vain":     {hold("condor", "13/2", "", 10, released(1, 1, 5)), jjm.HoldRelease, "(2 of 3)"},
		"released often enough": {hold("condor", "13/2", "", 20, released(3, 0, 0)), jjm.HoldRetry,
			"says retry (1 of 1)"},
		"just released for the last time": {hold("condor", "13/2", "", 20, released(3, 1, 20)), "", ""},
		"a minute later":                  {hold("condor", "13/2", "", 21, released(3, 1, 20)), jjm.HoldRetry, ""},
		"retried too": {hold("condor", "13/2", "", 0, released(3, 0, 0), retried(1)), jjm.HoldFail,
			"says fail; held"},
		"a rule that waits": {hold("pbs", "s", "over its Quota", 100), "", ""},
		"no rule":           {hold("sge", "Eqw", "cannot chdir", 23*60), "", ""},
		"no rule, too old": {hold("sge", "Eqw", "cannot chdir", 24*60), jjm.HoldFail,
			"held by the batch system for 24 h, the longest that a hold may last here: Eqw: cannot chdir"},
		"a rule that waits, too old":    {hold("pbs", "s", "over its Quota", 24*60), jjm.HoldFail, ""},
		"an operator's, a rule for all": {hold("condor", "1/0", "no quota, says the boss", 60), "", ""},
		"an operator's, a rule for those": {hold("slurm", "JobHeldAdmin", "JobHeldAdmin", 0), jjm.HoldRelease,
			"by operator says release (1 of 1); held by the operator: JobHeldAdmin"},
		"an operator's, too old": {hold("condor", "1/0", "", 24*60), jjm.HoldFail, "held by the operator for"},
		"by any":                 {hold("slurm", "JobHoldMaxRequeue", "", 0), jjm.HoldFail, ""},
		"an empty text":          {hold("pbs", "E", "", 0, retried(1)), jjm.HoldRetry, "retry (2 of 2)"},
		"decided already, whatever it says": {hold("pbs", "E", "", 25*60, func(h *jjm.Holding) {
			h.Action, h.Why = jjm.HoldRetry, "so it is"
		}), jjm.HoldRetry, "so it is"},
		"the application's": {hold("condor", "", "look at me", 60, app), "", ""},
		"the application's, too old": {hold("condor", "", "look at me", 24*60, app), jjm.HoldFail,
			"held by the application for 24 h, the longest that a hold may last here: look at me"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plan.Hold(c.facts)
			if s.Action != c.want || !strings.Contains(s.Why, c.why) || (s.Action != "") != (s.Why != "") {
				t.Errorf("%q: %s\nwant %q: %s", s.Action, s.Why, c.want, c.why)
			}
		})
	}
}

func TestHeldBy_DistinguishesPeopleFromBatchSystems(t *testing.T) {
	for _, c := range []struct{ kind, code, want string }{
		{"condor", "1/0", jjm.HeldOperator}, {"condor", "13/2", heldBatch}, {"condor", "15/1", heldBatch},
		{"condor", "", heldBatch},
		{"slurm", "JobHeldUser", jjm.HeldOperator}, {"slurm", "JobHeldAdmin", jjm.HeldOperator},
		{"slurm", "JobHoldMaxRequeue", heldBatch},
		{"slurm", "launch failed requeued held", heldBatch},
		{"pbs", "u", jjm.HeldOperator}, {"pbs", "so", jjm.HeldOperator}, {"pbs", "s", heldBatch},
		{"sge", "hqw", jjm.HeldOperator}, {"sge", "Eqw", heldBatch}, {"sge", "Ehqw", heldBatch},
		{"command", "PSUSP", heldBatch}, {"sim", "1/0", heldBatch},
	} {
		if got := plan.HeldBy(c.kind, c.code); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.kind, c.code, got, c.want)
		}
	}
}

func TestHoldRule_Check(t *testing.T) {
	for _, r := range []plan.HoldRule{{Do: "wait"}, {Do: "release", Times: 3}, {Do: "retry", By: "any", Code: "*"},
		{Do: "fail", After: minutes(1)}} {
		if ps := r.Check(); len(ps) > 0 {
			t.Errorf("%+v: %v", r, ps)
		}
	}
	for field, r := range map[string]plan.HoldRule{
		"code": {Do: "wait", Code: "[1"}, "by": {Do: "wait", By: "boss"}, "do": {Do: "panic"},
		"times": {Do: "fail", Times: 2},
	} {
		if ps := r.Check(); len(ps) != 1 || ps[0].Field != field {
			t.Errorf("%+v: %v, want one problem of %s", r, ps, field)
		}
	}
	if ps := (plan.HoldRule{}).Check(); len(ps) != 1 || ps[0].Field != "do" {
		t.Errorf("a rule that says nothing: %v", ps)
	}
}

func TestHoldSeen_AgesUntilTheHoldEnds(t *testing.T) {
	r := jjm.Report{State: jjm.BatchHold, Hold: "13/2", Reason: "no such file", Source: "condor_q"}
	h := plan.HoldSeen(nil, r, heldBatch, 100, time.Hour)
	if want := (jjm.Holding{By: heldBatch, Code: "13/2", Text: "no such file", Source: "condor_q",
		Since: 100}); h != want {
		t.Errorf("first seen:\n%+v", cmp.Diff(want, h))
	}
	h = plan.HoldSeen(&h, r, heldBatch, 200, 7*time.Minute)
	h = plan.Decided(h, plan.HoldStep{Action: jjm.HoldRelease, Why: "x"}, "")
	if h.Age != minutes(7) || h.Since != 100 || h.Releases != 1 || h.Action != jjm.HoldRelease {
		t.Errorf("decided: %+v", h)
	}
	if again := plan.Decided(h, plan.HoldStep{Action: jjm.HoldRelease, Why: "x"}, ""); again != h {
		t.Errorf("decided twice: %+v", again)
	}
	h = plan.Released(h, "")
	if h.Action != "" || h.Tried != 1 || h.Acted != minutes(7) {
		t.Errorf("released: %+v", h)
	}
	h = plan.HoldOver(h)
	if h.Now() || h.Releases != 1 || h.Age != 0 || h.Tried != 0 {
		t.Errorf("free: %+v", h)
	}
	h = plan.HoldSeen(&h, r, heldBatch, 300, time.Hour)
	if h.Since != 300 || h.Age != 0 || h.Releases != 1 {
		t.Errorf("held anew: %+v", h)
	}
	by := plan.Decided(h, plan.HoldStep{Action: jjm.HoldRelease, Why: "by alice"}, "alice")
	if by.Releases != 1 {
		t.Errorf("a person's release was counted as a rule's: %+v", by)
	}
	h = plan.HoldOver(plan.Decided(h, plan.HoldStep{Action: jjm.HoldRetry, Why: "x"}, ""))
	if !h.GivenUp() || h.Why != "x" {
		t.Errorf("given up, and free: %+v", h)
	}
	if next := plan.HoldNext(&h); next == nil || *next != (jjm.Holding{Retries: 1}) {
		t.Errorf("next attempt: %+v", next)
	}
	if plan.HoldNext(nil) != nil || plan.HoldNext(&jjm.Holding{Releases: 3}) != nil {
		t.Error("something is left of releases")
	}
}

func TestHoldNews_StoresTheAgeSometimes(t *testing.T) {
	old := jjm.Holding{Since: 1, Age: minutes(6)}
	for _, c := range []struct {
		h    jjm.Holding
		want bool
	}{
		{old, false}, {jjm.Holding{Since: 1, Age: minutes(9)}, false}, {jjm.Holding{Since: 1, Age: minutes(10)}, true},
		{jjm.Holding{Since: 1, Age: minutes(6), Code: "x"}, true},
		{jjm.Holding{Since: 1, Age: minutes(6), Releases: 1}, true},
	} {
		if got := plan.HoldNews(&old, c.h); got != c.want {
			t.Errorf("%+v: %v", c.h, got)
		}
	}
	if !plan.HoldNews(nil, old) {
		t.Error("the first one is no news")
	}
}

// However often releases fail and the daemon dies, a rule is applied at most as often as it allows, and every hold
// ends.
func TestProperty_HoldsEndWithinTheirLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.IntRange(1, 4).Draw(t, "times")
		retries := rapid.IntRange(0, 3).Draw(t, "retries")
		rules := []plan.HoldRule{{Code: "1*", Do: "release", Times: times,
			After: minutes(rapid.IntRange(0, 9).Draw(t, "after"))}}
		if retries > 0 {
			rules = append(rules, plan.HoldRule{Do: "retry", Times: retries})
		}
		const maxAge = 2 * time.Hour
		var stored, h *jjm.Holding // the holding in the store, and in memory
		sent, given := 0, 0
		save := func(now jjm.Holding) {
			if plan.HoldNews(h, now) {
				stored = &now
			}
			h = &now
		}
		for step := 0; ; step++ {
			if step > 5000 {
				t.Fatalf("not over: %+v", h)
			}
			code := rapid.SampledFrom([]string{"13/2", "14/0", "2/1"}).Draw(t, "code")
			save(plan.HoldSeen(h, jjm.Report{State: jjm.BatchHold, Hold: code}, heldBatch, 1, 3*time.Minute))
			s := plan.Hold(plan.HoldFacts{Kind: "sim", Hold: *h, Rules: rules, MaxAge: maxAge})
			save(plan.Decided(*h, s, ""))
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0: // the daemon is killed: changes that were not stored are forgotten
				h = nil
				if stored != nil {
					copied := *stored
					h = &copied
				}
				continue
			case 1: // the batch system does not answer
				continue
			}
			switch h.Action {
			case jjm.HoldRelease:
				sent++
				if sent > times*(given+1)*10 { // after a crash a release may be repeated until its end is stored
					t.Fatalf("released %d times", sent)
				}
				if rapid.Bool().Draw(t, "helps") {
					save(plan.HoldOver(plan.Released(*h, "")))
				} else {
					save(plan.Released(*h, ""))
				}
			case jjm.HoldRetry:
				given++
				h = plan.HoldNext(h)
				stored = h
			case jjm.HoldFail:
				if h.Age.D() < maxAge {
					t.Fatalf("failed at the age of %v", h.Age)
				}
				return
			}
			if h != nil && (h.Releases > times || h.Retries > retries || given > retries) {
				t.Fatalf("released %d of %d times, retried %d of %d: %+v", h.Releases, times, given, retries, h)
			}
		}
	})
}

func TestLocal_AnAttemptGivenUpForItsHold(t *testing.T) {
	job := jjm.LocalJob{ID: jjm.LocalID{Grid: 1, N: 2}, Attempt: 3, State: jjm.Submitted, Phase: jjm.BatchHeld}
	wrapper, daemon := &jjm.Claim{Holder: jjm.HolderWrapper}, &jjm.Claim{Holder: jjm.HolderDaemon}
	cancelled := jjm.Report{State: jjm.BatchCancelled}
	ok := &jjm.Result{Grid: 1, Local: 2, Attempt: 3, GLF: "", Claim: *wrapper}
	retry, fail := &jjm.Holding{Action: jjm.HoldRetry, Why: "held", Retries: 2},
		&jjm.Holding{Action: jjm.HoldFail, Why: "held for long"}
	for name, c := range map[string]struct {
		in    plan.LocalInput
		state jjm.State
		phase jjm.Phase
		text  string
	}{
		"retry": {plan.LocalInput{GiveUp: retry, Evidence: jjm.Evidence{Batch: cancelled, Claim: daemon}},
			jjm.Submitting, jjm.RetryWait, "held"},
		"retry, glf": {plan.LocalInput{GiveUp: retry, Result: jjm.ResultGLF,
			Evidence: jjm.Evidence{Batch: cancelled, Claim: daemon}}, jjm.Submitting, jjm.RetryWait, "held"},
		"retry, started, glf": {plan.LocalInput{GiveUp: retry, Result: jjm.ResultGLF,
			Evidence: jjm.Evidence{Batch: cancelled, Claim: wrapper}}, jjm.Submitting, jjm.RetryWait, "held"},
		"retry, started": {plan.LocalInput{GiveUp: retry, Evidence: jjm.Evidence{Batch: cancelled, Claim: wrapper}},
			jjm.Failed, jjm.BySystem, "held; it had been started, and its job file asks for no retries after a hold"},
		"retry, started, asks": {plan.LocalInput{GiveUp: retry, Retry: jjm.Retries{Limits: jjm.DefaultLimits()},
			Evidence: jjm.Evidence{Batch: cancelled, Claim: wrapper}}, jjm.Submitting, jjm.RetryWait, "held"},
		"retry, started, asks after other ends": {plan.LocalInput{GiveUp: retry, Retry: jjm.Retries{OnExit: []int{75}},
			Evidence: jjm.Evidence{Batch: cancelled, Claim: wrapper}},
			jjm.Failed, jjm.BySystem, "held; it had been started, and its job file asks for no retries after a hold"},
		"retry, never started, asks after other ends": {plan.LocalInput{GiveUp: retry,
			Retry:    jjm.Retries{OnExit: []int{75}},
			Evidence: jjm.Evidence{Batch: cancelled, Claim: daemon}}, jjm.Submitting, jjm.RetryWait, "held"},
		"retry, lost": {plan.LocalInput{GiveUp: retry, Lost: true, Evidence: jjm.Evidence{Claim: daemon}},
			jjm.Submitting, jjm.RetryWait, "held"},
		"retry, but it completed": {plan.LocalInput{GiveUp: retry,
			Evidence: jjm.Evidence{Batch: cancelled, Result: ok, Claim: wrapper}}, jjm.Completed, "", ""},
		"fail": {plan.LocalInput{GiveUp: fail, Evidence: jjm.Evidence{Batch: cancelled, Claim: daemon}},
			jjm.Failed, jjm.BySystem, "held for long"},
		"fail, glf": {plan.LocalInput{GiveUp: fail, Result: jjm.ResultGLF,
			Evidence: jjm.Evidence{Batch: cancelled, Claim: daemon}}, jjm.Failed, jjm.BySystem, "held for long"},
		"killed meanwhile": {plan.LocalInput{GiveUp: fail, Kill: true,
			Evidence: jjm.Evidence{Batch: cancelled, Claim: daemon}}, jjm.Killed, jjm.ByPerson, ""},
		"no end yet": {plan.LocalInput{GiveUp: fail, Evidence: jjm.Evidence{Batch: jjm.Report{State: jjm.BatchHold}}},
			jjm.Submitted, jjm.BatchHeld, ""},
		"only held": {plan.LocalInput{GiveUp: &jjm.Holding{Since: 1}, Result: jjm.ResultGLF,
			Evidence: jjm.Evidence{Batch: cancelled, Claim: daemon}}, jjm.Held, jjm.HeldByBatch, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.in.Result == "" {
				c.in.Result = jjm.ResultExit
			}
			c.in.Job, c.in.Now, c.in.Backoff = job, 1_000_000, time.Minute
			d := plan.Local(c.in)
			got := job
			if d.Over {
				d.Apply(&got)
				got.State, got.Phase = d.State, d.Phase
			}
			if got.State != c.state || got.Phase != c.phase || c.text != "" && d.Verdict.Text != c.text {
				t.Fatalf("%s/%s: %s\nwant %s/%s: %s", got.State, got.Phase, d.Verdict.Text, c.state, c.phase, c.text)
			}
			if d.Verdict.Counters != (jjm.Counters{}) {
				t.Errorf("counted as a failure: %+v", d.Verdict.Counters)
			}
			if c.state == jjm.Submitting && (got.Attempt != 4 || got.NotBefore != jjm.Time(1_000_000).Add(4*time.Minute)) {
				t.Errorf("next attempt %d, not before %d", got.Attempt, got.NotBefore)
			}
		})
	}
}
