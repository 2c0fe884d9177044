// Package rule holds the rules that judge the end of an attempt. The rules are data: TOML that jjm ships, and rules
// that a site or a job type adds or replaces (docs/RULES.md). The package finds the rules that match the facts about an
// end, and the rules that decide. It does no I/O. Package analyse collects the facts and carries the orders out.
//
// A rule has conditions, all of which must hold, and one order. Orders are of several kinds, and
// one rule of each kind decides:
//
//	verdict    how the local job continues: the first rule that matches
//	retry      no_retry, limit_retry: whether a decided retry is allowed
//	memory     increase_memory, increase_memory_xtimes   } the rule with the most conditions that
//	cputime    increase_cputime                          } matches; among equals the one with the
//	input      reduce_input_per_job                      } smallest limit, then the first
//	attention  attention: people should look
package rule

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// Rule is one rule for judging the end of an attempt. A condition with its zero value is not set.
type Rule struct {
	// Name identifies a rule; About says what the rule is for.
	Name  string `toml:"name" json:"name"`
	About string `toml:"about" json:"about,omitempty"`
	// Result is "glf" or "exit": how the job reports its end.
	Result string `toml:"result" json:"result,omitempty"`
	// Batch are states. The condition holds if the last state that the batch system reported is among them.
	Batch []jjm.BatchState `toml:"batch" json:"batch,omitempty"`
	// Is are facts that must hold, Not facts that must not hold; see [Words].
	Is  []string `toml:"is" json:"is,omitempty"`
	Not []string `toml:"not" json:"not,omitempty"`
	// Exit are exit codes. The condition holds if the application's exit code is among them.
	Exit []int `toml:"exit" json:"exit,omitempty"`
	// Text is a pattern. The condition holds if it matches in the texts of batch system, wrapper, application and job
	// type.
	Text *regexp.Regexp `toml:"text" json:"text,omitempty"`
	// Type is the job type, Cluster the name of the cluster, Params are settings of the job
	// file as text.
	Type    string            `toml:"type" json:"type,omitempty"`
	Cluster string            `toml:"cluster" json:"cluster,omitempty"`
	Params  map[string]string `toml:"params" json:"params,omitempty"`
	// Level and Verdict are conditions on the level and the action of the verdict. Only rules with orders that come with a
	// verdict may have them.
	Level   []string     `toml:"level" json:"level,omitempty"`
	Verdict []jjm.Action `toml:"verdict" json:"verdict,omitempty"`

	// Do is the order.
	Do string `toml:"do" json:"do"`
	// At and Class are the level and the class of the verdict that the rule orders. If Class is empty, it depends on the
	// run time of the attempt. Blame is the cause of the failure: "application" or "batch system".
	At    string `toml:"at" json:"at,omitempty"`
	Class string `toml:"class" json:"class,omitempty"`
	Blame string `toml:"blame" json:"blame,omitempty"`
	// MaxAttempts is the limit of limit_retry, Factor the factor by which memory or time grows or
	// input shrinks.
	MaxAttempts int     `toml:"max_attempts" json:"max_attempts,omitempty"`
	Factor      float64 `toml:"factor" json:"factor,omitempty"`
	// LogOnly prevents the rule from deciding. jjm only notes the decision that the rule would have made.
	LogOnly bool `toml:"log_only" json:"log_only,omitempty"`

	// Origin is the origin of the rule: Shipped, Site or "type NAME".
	Origin string `toml:"-" json:"origin,omitempty"`
}

// The origins of rules. The origin of a job type's rules is "type NAME".
const (
	Shipped = "jjm"
	Site    = "site"
)

// The orders that are verdicts.
const (
	ByOpinion = "opinion" // the verdict of the job type's opinion
	AsSaid    = "said"    // the verdict that the application's keyword, or its exit code 0, requests
	ByLog     = "log"     // the verdict of GBS's table
	Cancel    = "cancel"  // the attempt ended because jjm wanted it to end
	Hold      = "hold"    // the local job waits for a person
	Fail      = "fail"
	Retry     = "retry" // the local job runs again, within the limits
)

// The orders that come with a verdict.
const (
	NoRetry         = "no_retry"
	LimitRetry      = "limit_retry"
	MoreMemory      = "increase_memory"
	MoreMemoryTimes = "increase_memory_xtimes"
	MoreCPU         = "increase_cputime"
	LessInput       = "reduce_input_per_job"
	Attention       = "attention"
)

// The kinds of orders.
const (
	KindVerdict   = "verdict"
	KindMemory    = "memory"
	KindCPU       = "cputime"
	KindInput     = "input"
	KindRetry     = "retry"
	KindAttention = "attention"
)

// kinds returns the kinds of all orders.
func kinds() map[string]string {
	return map[string]string{ByOpinion: KindVerdict, AsSaid: KindVerdict, ByLog: KindVerdict, Cancel: KindVerdict,
		Hold: KindVerdict, Fail: KindVerdict, Retry: KindVerdict, NoRetry: KindRetry, LimitRetry: KindRetry,
		MoreMemory: KindMemory, MoreMemoryTimes: KindMemory, MoreCPU: KindCPU, LessInput: KindInput,
		Attention: KindAttention}
}

// Orders returns the orders that Rule.Do may have, sorted.
func Orders() []string { return slices.Sorted(maps.Keys(kinds())) }

// Kind returns the kind of the rule's order.
func (r *Rule) Kind() string { return kinds()[r.Do] }

// Conditions returns the number of conditions of the rule.
func (r *Rule) Conditions() int {
	n := len(r.Is) + len(r.Not) + len(r.Params)
	for _, set := range []bool{r.Result != "", len(r.Batch) > 0, len(r.Exit) > 0, r.Text != nil, r.Type != "",
		r.Cluster != "", len(r.Level) > 0, len(r.Verdict) > 0} {
		if set {
			n++
		}
	}
	return n
}

// limit returns the number of attempts that a rule about retries allows.
func (r *Rule) limit() int {
	if r.Do == NoRetry {
		return 1
	}
	return cmp.Or(r.MaxAttempts, 1)
}

// Facts are the facts that conditions of rules can use.
type Facts struct {
	Result string
	Batch  jjm.BatchState
	// Is are the words of [Words] that hold.
	Is map[string]bool
	// Exit is the exit code of the application, -1 if it is not known.
	Exit int
	// Text are the texts of batch system, wrapper, application and job type.
	Text          string
	Type, Cluster string
	Params        map[string]string
	// Level and Verdict describe the verdict. They are empty until it is made.
	Level   string
	Verdict jjm.Action
}

// The words of Rule.Is and Rule.Not.
const (
	IsOpinion  = "opinion"
	IsAsked    = "asked"
	IsSuccess  = "success"
	IsKilled   = "killed"
	IsStarted  = "started"
	IsResult   = "result"
	IsError    = "error"
	IsEnded    = "ended"
	IsRequired = "output-missing"
)

// Words returns the words of Is and Not with their meanings.
func Words() map[string]string {
	return map[string]string{
		IsOpinion:  "the job type has an opinion that counts",
		IsAsked:    "the application itself said FAILED, RETRY or HOLD and exited with 0",
		IsSuccess:  "the application succeeded, and no output that must be there is missing",
		IsKilled:   "jjm wanted to end it",
		IsStarted:  "a wrapper took it",
		IsResult:   "the wrapper left a result",
		IsError:    "the wrapper could not do its work",
		IsEnded:    "the batch system says that it ended",
		IsRequired: "it succeeded but for an output that it must leave",
	}
}

// Unmet returns the first condition that the facts do not meet, for people; "" if the rule matches.
func (r *Rule) Unmet(f *Facts) string {
	switch {
	case r.Result != "" && r.Result != f.Result:
		return fmt.Sprintf("result is %s, not %s", f.Result, r.Result)
	case len(r.Batch) > 0 && !slices.Contains(r.Batch, f.Batch):
		return fmt.Sprintf("the batch system says %s, not %s", f.Batch, either(r.Batch))
	case r.Type != "" && r.Type != f.Type:
		return fmt.Sprintf("the type is %s, not %s", f.Type, r.Type)
	case r.Cluster != "" && r.Cluster != f.Cluster:
		return fmt.Sprintf("the cluster is %s, not %s", cmp.Or(f.Cluster, "none"), r.Cluster)
	case len(r.Exit) > 0 && !slices.Contains(r.Exit, f.Exit):
		if f.Exit < 0 {
			return "the exit code is not known"
		}
		return fmt.Sprintf("the exit code is %d, not %s", f.Exit, either(r.Exit))
	case len(r.Level) > 0 && !slices.Contains(r.Level, f.Level):
		return fmt.Sprintf("the level is %s, not %s", f.Level, either(r.Level))
	case len(r.Verdict) > 0 && !slices.Contains(r.Verdict, f.Verdict):
		return fmt.Sprintf("the verdict is %s, not %s", f.Verdict, either(r.Verdict))
	}
	return r.unmetWords(f)
}

// unmetWords returns the first unmet condition among Is, Not, Params and Text.
func (r *Rule) unmetWords(f *Facts) string {
	for _, word := range r.Is {
		if !f.Is[word] {
			return "it is not so that " + Words()[word]
		}
	}
	for _, word := range r.Not {
		if f.Is[word] {
			return Words()[word]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		if want, is := r.Params[name], f.Params[name]; is != want {
			return fmt.Sprintf("params.%s is %s, not %s", name, cmp.Or(is, "not set"), want)
		}
	}
	if r.Text != nil && !r.Text.MatchString(f.Text) {
		return "nothing that was said matches " + r.Text.String()
	}
	return ""
}

// either joins values: "OOM or TIMEOUT".
func either[T any](all []T) string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = fmt.Sprint(one)
	}
	return strings.Join(words, " or ")
}
