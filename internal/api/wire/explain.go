package wire

import "jjm/internal/jjm"

// VerbExplain is the verb "explain": it shows the rule by which an attempt was judged.
func VerbExplain() Verb[ExplainRequest, ExplainAnswer] {
	return Verb[ExplainRequest, ExplainAnswer]{About{Name: "explain", MaxBytes: maxShort,
		Help: "By which rule an attempt was judged, and what the other rules say of it."}}
}

// ExplainRequest names one local job and one of its attempts, by default the last ended attempt.
type ExplainRequest struct {
	Head
	One
	Attempt *int32 `json:"attempt,omitempty"`
}

// Check requires exactly one reference.
func (r ExplainRequest) Check() error {
	if r.Attempt != nil && *r.Attempt < 0 {
		return jjm.Errorf(jjm.Invalid, "attempt: %d: want the number of an attempt, from 0", *r.Attempt)
	}
	return r.one("explain")
}

// ExplainAnswer is the answer of "explain".
type ExplainAnswer struct {
	Reply
	Explain *Explained `json:"explain,omitempty"`
}

// Check requires the member explain.
func (a ExplainAnswer) Check() error { return present("explain", a.Explain != nil) }

// Explained is an ended attempt, with the outcome of each present rule for the attempt. Attempt.Verdict is the verdict
// made when the attempt ended, by the rules of that time.
type Explained struct {
	Local   string     `json:"local"`
	Attempt Attempt    `json:"attempt"`
	Rules   []RuleSays `json:"rules"`
}

// RuleSays is the outcome of one rule for an attempt. Do is the verdict or the order that the rule would decide.
type RuleSays struct {
	Rule string `json:"rule"`
	// Origin is "jjm", "site" or "type NAME".
	Origin string `json:"origin"`
	Do     string `json:"do"`
	// LogOnly is set if the rule is only logged. Decides is set if the rule decides.
	LogOnly bool `json:"log_only,omitempty"`
	Decides bool `json:"decides,omitempty"`
	// Unmet is the first condition of the rule that does not hold, "" if all hold. Then Says is the verdict or the
	// order.
	Unmet string `json:"unmet,omitempty"`
	Says  string `json:"says,omitempty"`
}
