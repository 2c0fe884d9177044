package analyse

import (
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
)

// Opinion is the result of one rule for an attempt.
type Opinion struct {
	Rule rule.Rule
	// Decides is true if the rule determined the verdict, or if its order is carried out with the verdict.
	Decides bool
	// Unmet is the first condition that does not hold, "" if all conditions hold. If all hold, Says is the verdict or the
	// order of the rule.
	Unmet string
	Says  string
}

// Explain returns an Opinion for each rule, in the order of the rules. It returns no Opinion if the evidence shows no
// end.
//
// There are two kinds of rules. First the rules for verdicts see the evidence; the first rule whose conditions hold
// determines the verdict. Then, unless the verdict is complete or cancel, the rules for orders see the evidence and the
// verdict, and several of them may be carried out.
func Explain(in Input) []Opinion {
	c := newCase(in)
	if !c.over() {
		return nil
	}
	facts := c.facts() // first the facts for verdicts; the facts for orders follow below
	by, _ := c.in.Rules.Verdict(&facts)
	v := c.carryOut(by)
	with := facts
	with.Level, with.Verdict = v.Level, v.Action
	var deciding []*rule.Rule
	if by != nil {
		deciding = append(deciding, by)
	}
	orders := v.Action == jjm.Retry || v.Action == jjm.Hold || v.Action == jjm.Fail
	if orders {
		decide, _ := c.in.Rules.Orders(&with)
		deciding = append(deciding, decide...)
	}
	var all []Opinion
	for _, r := range c.in.Rules.Rules() {
		o := Opinion{Rule: r, Decides: slices.ContainsFunc(deciding, func(d *rule.Rule) bool { return d.Name == r.Name })}
		switch verdict := r.Kind() == rule.KindVerdict; {
		case verdict:
			if o.Unmet = r.Unmet(&facts); o.Unmet == "" {
				o.Says = saysOf(c.ordered(&r))
			}
		case !orders:
			o.Unmet = "a verdict of " + string(v.Action) + " has no orders"
		default:
			if o.Unmet = r.Unmet(&with); o.Unmet == "" {
				o.Says = r.Do
			}
		}
		all = append(all, o)
	}
	return all
}
