package rule

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
)

//go:embed shipped.toml
var shippedText string

// ShippedText returns the rules that jjm ships, as TOML.
func ShippedText() string { return shippedText }

// ShippedRules returns the rules that jjm ships.
func ShippedRules() Set {
	rules, problems := Parse("shipped.toml", []byte(shippedText))
	if len(problems) > 0 {
		panic(problems.Error()) // a test makes sure that there is no mistake
	}
	return NewSet(Shipped, rules)
}

// file is the content of a text of rules.
type file struct {
	Rule []Rule `toml:"rule"`
}

// Parse parses a text of [[rule]] tables. It returns a problem with its line for each mistake, and then no rules.
func Parse(name string, text []byte) ([]Rule, jjm.Problems) {
	var f file
	places, problems := strict.Decode(name, text, &f)
	if len(problems) == 0 {
		problems = places.Locate(Check("rule", f.Rule))
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return f.Rule, nil
}

var ruleName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// Check returns the problems of rules. field is the name of the list of rules, with which the problems' fields begin.
func Check(field string, rules []Rule) (problems jjm.Problems) {
	known := map[string]int{}
	for i := range rules {
		r := &rules[i]
		at := fmt.Sprintf("%s[%d].", field, i)
		for _, p := range r.check() {
			p.Field = at + p.Field
			problems = append(problems, p)
		}
		if first, twice := known[r.Name]; twice {
			problems = append(problems, jjm.Problem{Field: at + "name",
				Text: fmt.Sprintf("%.40q is the name of %s[%d] already: choose another", r.Name, field, first)})
		} else {
			known[r.Name] = i
		}
	}
	return problems
}

// check returns the problems of a rule. Problem.Field is only the key.
func (r *Rule) check() (problems jjm.Problems) {
	bad := func(field, format string, args ...any) {
		problems = append(problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if !ruleName.MatchString(r.Name) {
		bad("name", "%.40q: want small letters, digits and -, such as quota-exceeded", r.Name)
	}
	if r.Result != "" && r.Result != jjm.ResultGLF && r.Result != jjm.ResultExit {
		bad("result", "%.40q: want %q or %q", r.Result, jjm.ResultGLF, jjm.ResultExit)
	}
	for field, words := range map[string][]string{"is": r.Is, "not": r.Not} {
		for _, word := range words {
			if Words()[word] == "" {
				bad(field, "%.40q: want %s", word, jjm.AnyOf(slices.Sorted(maps.Keys(Words()))))
			}
		}
	}
	for _, code := range r.Exit {
		if code < 0 || code > 255 {
			bad("exit", "%d is out of range: want 0 to 255", code)
		}
	}
	for _, action := range r.Verdict {
		if !slices.Contains([]jjm.Action{jjm.Retry, jjm.Hold, jjm.Fail}, action) {
			bad("verdict", "%.40q: want %s, %s or %s: other ends have no orders", action, jjm.Retry, jjm.Hold, jjm.Fail)
		}
	}
	if r.Kind() == "" {
		bad("do", "%.40q: want %s", r.Do, jjm.AnyOf(Orders()))
		return problems
	}
	return append(problems, r.checkOrder()...)
}

// checkOrder returns a problem for each key that the order does not allow, each invalid value, and each condition that
// the order lacks.
func (r *Rule) checkOrder() (problems jjm.Problems) {
	bad := func(field, format string, args ...any) {
		problems = append(problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	made := r.Do == Hold || r.Do == Fail || r.Do == Retry
	verdict := r.Kind() == KindVerdict
	for _, key := range []struct {
		field string
		set   bool
		goes  bool
		with  string
	}{
		{"at", r.At != "", made || r.Do == Cancel, "hold, fail and retry"},
		{"class", r.Class != "", r.Do == Retry, "retry"},
		{"blame", r.Blame != "", made, "hold, fail and retry"},
		{"level", len(r.Level) > 0, !verdict, "orders that come with a verdict"},
		{"verdict", len(r.Verdict) > 0, !verdict, "orders that come with a verdict"},
		{"max_attempts", r.MaxAttempts != 0, r.Kind() == KindRetry, "limit_retry"},
		{"factor", r.Factor != 0, r.Do == MoreMemoryTimes || r.Do == MoreCPU || r.Do == LessInput,
			strings.Join([]string{MoreMemoryTimes, MoreCPU, LessInput}, ", ")},
	} {
		if key.set && !key.goes {
			bad(key.field, "goes with %s, not with %s", key.with, r.Do)
		}
	}
	if r.Class != "" && !slices.Contains([]string{"EARLY", "LATE_UNHANDLED"}, r.Class) {
		bad("class", "%.40q: want EARLY or LATE_UNHANDLED", r.Class)
	}
	if r.Blame != "" && r.Blame != BlameApplication && r.Blame != BlameBatch {
		bad("blame", "%.40q: want %q or %q", r.Blame, BlameApplication, BlameBatch)
	}
	if r.Do == LimitRetry && r.MaxAttempts < 1 {
		bad("max_attempts", "want how many attempts there may be, at least 1")
	}
	if r.Factor < 0 || r.Do == MoreMemoryTimes && r.Factor <= 1 {
		bad("factor", "want a number above 1, such as 1.5")
	}
	for _, need := range []struct {
		do   string
		any  []string
		glf  bool
		text string
	}{
		{ByOpinion, []string{IsOpinion}, false, `is = ["opinion"]`},
		{AsSaid, []string{IsAsked, IsSuccess}, false, `is = ["asked"] or ["success"]`},
		{Cancel, []string{IsKilled}, false, `is = ["killed"]`},
		{ByLog, nil, true, `result = "glf"`},
	} {
		there := need.glf && r.Result == jjm.ResultGLF
		for _, word := range need.any {
			there = there || slices.Contains(r.Is, word)
		}
		if r.Do == need.do && !there {
			bad("do", "%s needs the condition %s", r.Do, need.text)
		}
	}
	return problems
}

// The words of Rule.Blame.
const (
	BlameApplication = "application"
	BlameBatch       = "batch system"
)
