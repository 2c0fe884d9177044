package analyse_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
	"jjm/internal/policy/analyse/rule"
)

// siteRules returns the shipped rules, extended by the rules of a site.
func siteRules(t *testing.T, text string) rule.Set {
	t.Helper()
	rules, problems := rule.Parse("rules.toml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems.Error())
	}
	return rule.ShippedRules().With(rule.Site, rules)
}

// A rule of a site or job type can let the log outrank the batch system, because decision R4 is itself a rule.
func TestRules_ALogMayBeTrustedMoreThanTheBatchSystem(t *testing.T) {
	in := analyse.Input{Result: jjm.ResultGLF, Evidence: jjm.Evidence{Batch: ended(jjm.BatchOOM, "oom-kill"),
		Result: result(0, wrote(0, "SUCCEEDED -"))}}
	if v := analyse.Attempt(in); v.Action != jjm.Retry || v.Rule != "limit" || v.Level != analyse.LevelApplication {
		t.Errorf("as shipped: %+v", v)
	}
	in.Rules = siteRules(t, `[[rule]]
		name = "trust-the-log"
		result = "glf"
		batch = ["OOM"]
		is = ["success"]
		do = "said"`)
	v := analyse.Attempt(in)
	if v.Action != jjm.Complete || v.Rule != "trust-the-log" ||
		!strings.HasSuffix(v.Text, "; by rule trust-the-log of the site") {
		t.Errorf("with a rule of the site: %+v", v)
	}
	in.Rules = siteRules(t, `[[rule]]
		name = "limit"
		batch = ["OOM", "TIMEOUT"]
		is = ["started"]
		do = "retry"
		log_only = true`)
	v = analyse.Attempt(in)
	want := []jjm.RuleNote{{Rule: "limit", Says: "retry (APPLICATION, LATE_UNHANDLED)"}}
	if v.Action != jjm.Complete || v.Rule != "success" || !cmp.Equal(v.LogOnly, want) {
		t.Errorf("with the rule for the log only: %+v", v)
	}
}

func TestRules_WhatWasSaidDecides(t *testing.T) {
	r := result(1, wrote(1, "FAILED disk quota exceeded on /data"))
	in := analyse.Input{Result: jjm.ResultExit, Evidence: jjm.Evidence{Result: r}, Cluster: "farm", Type: "script",
		Params: map[string]any{"release": "21", "events": int64(5)}, Rules: siteRules(t, `[[rule]]
		name = "quota"
		text = "quota exceeded"
		cluster = "farm"
		type = "script"
		params = {release = "21", events = "5"}
		do = "hold"
		at = "USER"`)}
	v := analyse.Attempt(in)
	if v.Action != jjm.Hold || v.Phase != jjm.HeldByApp || v.Level != "USER" || v.Rule != "quota" {
		t.Errorf("%+v", v)
	}
	in.Cluster = "other"
	if v := analyse.Attempt(in); v.Action != jjm.Fail || v.Rule != "exit-code" {
		t.Errorf("elsewhere: %+v", v)
	}
}

func TestRules_ALimitForbidsARetryAndStepUpsAreOrdered(t *testing.T) {
	five := 5
	in := analyse.Input{Result: jjm.ResultExit, Retry: true, Limits: jjm.Limits{LateUnhandled: &five},
		Evidence: jjm.Evidence{Batch: ended(jjm.BatchOOM, ""),
			Result: result(137, wrote(137))}, Rules: siteRules(t, `[[rule]]
		name = "twice"
		batch = ["OOM"]
		do = "limit_retry"
		max_attempts = 2
		[[rule]]
		name = "more-memory"
		batch = ["OOM"]
		do = "increase_memory_xtimes"
		factor = 1.5`)}
	first := analyse.Attempt(in)
	want := []jjm.StepUp{{Rule: "more-memory", Do: rule.MoreMemoryTimes, Factor: 1.5}}
	if first.Action != jjm.Retry || first.Limited != "" || !cmp.Equal(first.StepUps, want) {
		t.Errorf("the first time: %+v", first)
	}
	in.Counters = first.Counters
	second := analyse.Attempt(in)
	if second.Action != jjm.Fail || second.Phase != jjm.ByLimit || second.Limited != "twice" ||
		!strings.HasSuffix(second.Text, "; rule twice allows 2 attempts") || strings.Contains(second.Text, "; retry ") {
		t.Errorf("the second time: %+v", second)
	}
}

func TestRules_FailedNeedsAttentionAndNothingElseDoes(t *testing.T) {
	for said, want := range map[string]string{"FAILED no calibration": "says-failed", "RETRY x": "", "SUCCEEDED -": ""} {
		v := analyse.Attempt(analyse.Input{Result: jjm.ResultGLF, Evidence: jjm.Evidence{Result: result(0, wrote(0, said))}})
		if v.Attention != want {
			t.Errorf("%s: attention by %q, want %q", said, v.Attention, want)
		}
	}
}

func TestRules_WithoutARuleThatDecidesTheAttemptFails(t *testing.T) {
	in := analyse.Input{Result: jjm.ResultExit, Evidence: jjm.Evidence{Result: result(3, wrote(3))},
		Rules: rule.NewSet(rule.Site, []rule.Rule{{Name: "x", Exit: []int{9}, Do: rule.Retry}})}
	v := analyse.Attempt(in)
	if v.Action != jjm.Fail || !strings.HasPrefix(v.Text, "no rule says what to do: exit code 3") {
		t.Errorf("%+v", v)
	}
}
