package rule_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jjm/internal/policy/analyse/rule"
	"jjm/internal/testkit/golden"
)

// retryRow is a row of retry_rules: a failed job, the rules about it, and the rules that remain after Orders has
// chosen.
type retryRow struct {
	Rules  []ruleRow `json:"rules"`
	Job    jobRow    `json:"job"`
	Expect []ruleRow `json:"expect"`
}

type ruleRow struct {
	Action       string  `json:"action"`
	Diag         string  `json:"error_diag"`
	Architecture *string `json:"architecture"`
	Release      *string `json:"release"`
	Queue        *int    `json:"wqid"`
	Params       struct {
		MaxAttempt int `json:"maxAttempt"`
	} `json:"params"`
	Active bool `json:"active"`
	Error  int  `json:"error_id"`
}

type jobRow struct {
	Diag         string `json:"error_diag"`
	Release      string `json:"release"`
	Architecture string `json:"architecture"`
	Queue        int    `json:"wqid"`
}

// rule converts the i-th rule of a row to a rule of jjm. The architecture, release and work queue of the original rule
// become settings of the job file in jjm.
func (r *ruleRow) rule(i int) rule.Rule {
	out := rule.Rule{Name: fmt.Sprintf("r%d-error-%d", i, r.Error), Do: r.Action, MaxAttempts: r.Params.MaxAttempt,
		LogOnly: !r.Active, Params: map[string]string{}}
	if r.Diag != "" {
		out.Text = regexp.MustCompile(r.Diag)
	}
	if r.Architecture != nil {
		out.Params["architecture"] = *r.Architecture
	}
	if r.Release != nil {
		out.Params["release"] = *r.Release
	}
	if r.Queue != nil {
		out.Params["queue"] = fmt.Sprint(*r.Queue)
	}
	return out
}

// For each kind of action, Orders keeps one rule: the most specific rule, among equally specific rules the strictest,
// and among equally strict rules the first.
func TestOrders_AsTheGoldenRowsHaveThem(t *testing.T) {
	golden.Rows(t, "jedi/retry_rules", func(_ string, row retryRow) string {
		var rules []rule.Rule
		for i := range row.Rules {
			rules = append(rules, row.Rules[i].rule(i))
		}
		facts := rule.Facts{Text: row.Job.Diag, Params: map[string]string{"architecture": row.Job.Architecture,
			"release": row.Job.Release, "queue": fmt.Sprint(row.Job.Queue)}}
		decide, noted := rule.NewSet(rule.Site, rules).Orders(&facts)
		var got, want []rule.Rule
		for _, r := range decide {
			got = append(got, *r)
		}
		for i := range row.Expect {
			r := row.Expect[i].rule(i)
			r.Origin = rule.Site
			want = append(want, r)
		}
		for i := range min(len(got), len(want)) { // a row identifies its rules only by their errors
			var at, error int
			_, _ = fmt.Sscanf(got[i].Name, "r%d-error-%d", &at, &error)
			got[i].Name = fmt.Sprintf("r%d-error-%d", i, error)
		}
		if len(noted) > 0 {
			return "noted are rules that decide"
		}
		text := cmp.Comparer(func(a, b *regexp.Regexp) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
		return cmp.Diff(want, got, text, cmpopts.EquateEmpty())
	})
}
