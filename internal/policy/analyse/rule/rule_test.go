package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
)

// parse parses valid rules.
func parse(t *testing.T, text string) []rule.Rule {
	t.Helper()
	rules, problems := rule.Parse("rules.toml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems.Error())
	}
	return rules
}

// names returns the names of rules.
func names(rules []*rule.Rule) (all []string) {
	for _, r := range rules {
		all = append(all, r.Name)
	}
	return all
}

func TestShipped_EachHasAReasonAndOneDecidesAlways(t *testing.T) {
	set := rule.ShippedRules()
	for _, r := range set.Rules() {
		if r.About == "" || r.LogOnly || r.Origin != rule.Shipped {
			t.Errorf("rule %s: about %q, log_only %v, from %s", r.Name, r.About, r.LogOnly, r.Origin)
		}
	}
	for _, result := range []string{jjm.ResultGLF, jjm.ResultExit} {
		if r, _ := set.Verdict(&rule.Facts{Result: result}); r == nil {
			t.Errorf("no rule decides where nothing holds, under %s", result)
		}
	}
}

func TestWith_OneOfTheSameNameTakesItsPlaceOthersComeFirst(t *testing.T) {
	first := rule.NewSet(rule.Shipped, parse(t, `
		[[rule]]
		name = "a"
		do = "fail"
		[[rule]]
		name = "b"
		do = "fail"
		exit = [3]
		`))
	merged := first.With(rule.Site, parse(t, `
		[[rule]]
		name = "b"
		do = "retry"
		[[rule]]
		name = "c"
		do = "hold"
		exit = [9]
		`))
	var got []string
	for _, r := range merged.Rules() {
		got = append(got, r.Name+" "+r.Do+" "+r.Origin)
	}
	if diff := cmp.Diff([]string{"c hold site", "a fail jjm", "b retry site"}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(first.Rules()); n != 2 || first.Rules()[1].Do != rule.Fail {
		t.Error("the set of before changed")
	}
}

func TestVerdict_ARuleForTheLogIsNotedAndTheNextDecides(t *testing.T) {
	set := rule.NewSet(rule.Site, parse(t, `
		[[rule]]
		name = "trial"
		do = "hold"
		exit = [3]
		log_only = true
		[[rule]]
		name = "second-trial"
		do = "retry"
		log_only = true
		[[rule]]
		name = "real"
		do = "fail"
		[[rule]]
		name = "late"
		do = "retry"
		log_only = true
		`))
	for _, c := range []struct {
		exit  int
		noted []string
	}{{3, []string{"trial"}}, {4, []string{"second-trial"}}} {
		by, noted := set.Verdict(&rule.Facts{Exit: c.exit})
		if by == nil || by.Name != "real" || !cmp.Equal(c.noted, names(noted)) {
			t.Errorf("exit code %d: %v decides, noted are %v", c.exit, by, names(noted))
		}
	}
}

func TestOrders_ARuleForTheLogIsNotedIfItWouldDecide(t *testing.T) {
	text := `
		[[rule]]
		name = "three"
		do = "limit_retry"
		max_attempts = 3
		[[rule]]
		name = "never"
		do = "no_retry"
		exit = [3]
		log_only = true
		[[rule]]
		name = "twice"
		do = "limit_retry"
		max_attempts = 2
		[[rule]]
		name = "more"
		do = "increase_memory_xtimes"
		factor = 1.5
		batch = ["OOM"]
		`
	set := rule.NewSet(rule.Site, parse(t, text))
	decide, noted := set.Orders(&rule.Facts{Exit: 3, Batch: jjm.BatchOOM})
	diff := cmp.Diff([]string{"more", "twice"}, names(decide))
	if diff != "" || !cmp.Equal([]string{"never"}, names(noted)) {
		t.Errorf("%s noted are %v", diff, names(noted))
	}
}

func TestUnmet_NamesTheConditionThatDoesNotHold(t *testing.T) {
	f := rule.Facts{Result: "exit", Batch: jjm.BatchOOM, Is: map[string]bool{rule.IsStarted: true}, Exit: 3,
		Text: "disk quota exceeded", Type: "script", Cluster: "farm", Params: map[string]string{"release": "21"},
		Level: "EXIT", Verdict: jjm.Fail}
	for _, c := range []struct{ condition, want string }{
		{`result = "glf"`, "result is exit, not glf"},
		{`batch = ["OK", "FAILED"]`, "the batch system says OOM, not OK or FAILED"},
		{`is = ["result"]`, "it is not so that the wrapper left a result"},
		{`is = ["asked"]`, "it is not so that the application itself said FAILED, RETRY or HOLD and exited with 0"},
		{`not = ["started"]`, "a wrapper took it"},
		{`exit = [4, 5]`, "the exit code is 3, not 4 or 5"},
		{`text = "network"`, "nothing that was said matches network"},
		{`type = "mc"`, "the type is script, not mc"},
		{`cluster = "other"`, "the cluster is farm, not other"},
		{`params = {release = "22"}`, "params.release is 21, not 22"},
		{`params = {queue = "x"}`, "params.queue is not set, not x"},
		{`level = ["USER"]`, "the level is EXIT, not USER"},
		{`verdict = ["retry"]`, "the verdict is fail, not retry"},
		{`batch = ["OOM"]`, ""},
		{`text = "(?i)QUOTA"`, ""},
		{`is = ["started"]`, ""},
	} {
		r := parse(t, "[[rule]]\nname = \"x\"\ndo = \"attention\"\n"+c.condition)[0]
		if got := r.Unmet(&f); got != c.want {
			t.Errorf("%s: %q, want %q", c.condition, got, c.want)
		}
	}
}

func TestParse_NamesEveryMistakeWithItsLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[[rule]]\nname = \"x\"\ndo = \"retri\"", `rules.toml:3: rule[0].do: "retri": want `},
		{"[[rule]]\nname = \"X y\"\ndo = \"retry\"", "rules.toml:2: rule[0].name"},
		{"[[rule]]\nname = \"x\"\nlogonly = true\ndo = \"retry\"", `did you mean "log_only"`},
		{"[[rule]]\nname = \"x\"\nbatch = [\"OOMM\"]\ndo = \"retry\"", "rules.toml:3"},
		{"[[rule]]\nname = \"x\"\nis = [\"begun\"]\ndo = \"retry\"", `"begun": want `},
		{"[[rule]]\nname = \"x\"\ntext = \"(\"\ndo = \"retry\"", "rules.toml:3"},
		{"[[rule]]\nname = \"x\"\nexit = [256]\ndo = \"retry\"", "256 is out of range"},
		{"[[rule]]\nname = \"x\"\nclass = \"LATE\"\ndo = \"retry\"", "want EARLY or LATE_UNHANDLED"},
		{"[[rule]]\nname = \"x\"\nclass = \"EARLY\"\ndo = \"fail\"", "goes with retry, not with fail"},
		{"[[rule]]\nname = \"x\"\nlevel = [\"USER\"]\ndo = \"fail\"", "goes with orders that come with a verdict"},
		{"[[rule]]\nname = \"x\"\nverdict = [\"complete\"]\ndo = \"attention\"", "other ends have no orders"},
		{"[[rule]]\nname = \"x\"\nblame = \"me\"\ndo = \"fail\"", "blame"},
		{"[[rule]]\nname = \"x\"\nresult = \"log\"\ndo = \"fail\"", "result"},
		{"[[rule]]\nname = \"x\"\ndo = \"limit_retry\"", "at least 1"},
		{"[[rule]]\nname = \"x\"\ndo = \"no_retry\"\nfactor = 2.0", "goes with increase_memory_xtimes"},
		{"[[rule]]\nname = \"x\"\ndo = \"increase_memory_xtimes\"", "above 1"},
		{"[[rule]]\nname = \"x\"\ndo = \"said\"", `said needs the condition is = ["asked"] or ["success"]`},
		{"[[rule]]\nname = \"x\"\ndo = \"log\"", `result = "glf"`},
		{"[[rule]]\nname = \"x\"\ndo = \"fail\"\n[[rule]]\nname = \"x\"\ndo = \"fail\"", "rules.toml:5"},
	} {
		_, problems := rule.Parse("rules.toml", []byte(c.text))
		if got := problems.Error(); len(problems) == 0 || !strings.Contains(got, c.want) {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

// FuzzParse checks that every accepted text of rules can be applied to any facts without a panic.
func FuzzParse(f *testing.F) {
	f.Add(rule.ShippedText())
	f.Add("[[rule]]\nname = \"x\"\ndo = \"limit_retry\"\nmax_attempts = 2\nparams = {a = \"b\"}\ntext = \"a.*\"")
	f.Fuzz(func(t *testing.T, text string) {
		rules, problems := rule.Parse("rules.toml", []byte(text))
		if len(problems) > 0 && problems.Error() == "" {
			t.Fatal("a problem without a text")
		}
		set := rule.ShippedRules().With(rule.Site, rules)
		facts := rule.Facts{Result: "exit", Text: text}
		by, noted := set.Verdict(&facts)
		if by != nil && (by.LogOnly || by.Kind() != rule.KindVerdict) || len(noted) > 1 {
			t.Fatalf("%v decides, noted are %v", by, names(noted))
		}
		decide, _ := set.Orders(&facts)
		kinds := map[string]bool{}
		for _, r := range decide {
			if kinds[r.Kind()] || r.LogOnly {
				t.Fatal(fmt.Sprint("two of a kind, or one that only logs: ", names(decide)))
			}
			kinds[r.Kind()] = true
		}
	})
}
