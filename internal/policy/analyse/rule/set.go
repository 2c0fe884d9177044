package rule

import (
	"slices"
)

// Set is a list of rules in the order in which they are tried. The zero Set has no rules.
type Set struct {
	rules []Rule
}

// NewSet returns the rules of an origin as a set.
func NewSet(origin string, rules []Rule) Set { return Set{}.With(origin, rules) }

// With returns the set after adding the rules of an origin that outranks the set. A new rule with the name of a rule in
// the set replaces that rule at its position. The other new rules come before the rules of the set, in their order.
func (s Set) With(origin string, rules []Rule) Set {
	merged := slices.Clone(s.rules)
	var first []Rule
	for _, r := range rules {
		r.Origin = origin
		if i := slices.IndexFunc(merged, func(old Rule) bool { return old.Name == r.Name }); i >= 0 {
			merged[i] = r
		} else {
			first = append(first, r)
		}
	}
	return Set{append(first, merged...)}
}

// Rules returns the rules in their order.
func (s Set) Rules() []Rule { return s.rules }

// Empty reports whether the set has no rules.
func (s Set) Empty() bool { return len(s.rules) == 0 }

// Verdict returns the rule that decides: the first matching rule without log_only that orders a verdict; nil if no rule
// matches. noted holds at most one rule: the first matching rule with log_only before the rule that decides.
func (s Set) Verdict(f *Facts) (decides *Rule, noted []*Rule) {
	for i := range s.rules {
		r := &s.rules[i]
		switch {
		case r.Kind() != KindVerdict || r.Unmet(f) != "":
		case !r.LogOnly:
			return r, noted
		case len(noted) == 0: // without log_only, only the first of these rules would decide
			noted = append(noted, r)
		}
	}
	return nil, noted
}

// Orders returns the rules that decide orders of kinds other than KindVerdict, at most one rule of each kind. noted are
// the rules with log_only that would otherwise have decided.
func (s Set) Orders(f *Facts) (decide, noted []*Rule) {
	for _, kind := range []string{KindMemory, KindCPU, KindInput, KindRetry, KindAttention} {
		best := s.best(kind, f, false)
		if best != nil {
			decide = append(decide, best)
		}
		if would := s.best(kind, f, true); would != nil && would.LogOnly {
			noted = append(noted, would)
		}
	}
	return decide, noted
}

// best returns the highest-ranking rule of a kind that matches, nil if none matches. If all is set, rules with log_only
// also count.
func (s Set) best(kind string, f *Facts, all bool) (best *Rule) {
	for i := range s.rules {
		r := &s.rules[i]
		if r.Kind() != kind || r.LogOnly && !all || r.Unmet(f) != "" {
			continue
		}
		if best == nil || r.better(best) {
			best = r
		}
	}
	return best
}

// better reports whether r outranks an earlier rule of the set: r has more conditions, or it has the same number of
// conditions and allows fewer attempts.
func (r *Rule) better(than *Rule) bool {
	if a, b := r.Conditions(), than.Conditions(); a != b {
		return a > b
	}
	return r.Kind() == KindRetry && r.limit() < than.limit()
}
