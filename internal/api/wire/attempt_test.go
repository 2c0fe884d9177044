package wire

import (
	"testing"

	"jjm/internal/jjm"
)

// When a local job is released after a HOLD, the release may replace the retry arguments that the HOLD requested.
// Therefore the arguments with which the next attempt began decide whether the work of the held attempt was wasted.
func TestWasted_TheWordsOfTheNextAttemptCount(t *testing.T) {
	const restart = "RESTART"
	attempt := func(a jjm.Action, said, began []string) Attempt {
		return Attempt{Verdict: &jjm.Verdict{Action: a, RetryArgs: said, Basis: &jjm.Basis{RetryArgs: began}}}
	}
	two, scratch := []string{"step", "2"}, []string{restart}
	held := attempt(jjm.Hold, two, nil)
	refused := Attempt{Verdict: &jjm.Verdict{Action: jjm.Retry}}
	for name, c := range map[string]struct {
		attempts []Attempt
		args     []string
		want     bool
	}{
		"held":                              {[]Attempt{held}, two, false},
		"released with its words":           {[]Attempt{held, {}}, two, false},
		"released from scratch":             {[]Attempt{held, {}}, scratch, true},
		"its next attempt ended":            {[]Attempt{held, attempt(jjm.Hold, two, scratch)}, two, true},
		"HOLD RESTART, released with words": {[]Attempt{attempt(jjm.Hold, scratch, nil), {}}, two, false},
		"the next submission was refused":   {[]Attempt{held, refused}, scratch, false},
		"completed":                         {[]Attempt{attempt(jjm.Complete, nil, nil)}, scratch, false},
		"failed":                            {[]Attempt{attempt(jjm.Fail, two, nil), {}}, two, true},
		"runs":                              {[]Attempt{{}}, nil, false},
	} {
		if got := Wasted(c.attempts, 0, c.args); got != c.want {
			t.Errorf("%s: wasted %v, want %v", name, got, c.want)
		}
	}
}

// The requests of release and resubmit refuse retry arguments that are empty, too long together, or more than one line.
func TestCheckWords(t *testing.T) {
	long := make([]byte, maxWords)
	for i := range long {
		long[i] = 'x'
	}
	for name, c := range map[string]struct {
		args []string
		want bool
	}{
		"none":   {nil, true},
		"some":   {[]string{"step", "2 3"}, true},
		"empty":  {[]string{"step", ""}, false},
		"a line": {[]string{"step\n2"}, false},
		"long":   {[]string{string(long)}, false},
	} {
		for verb, err := range map[string]error{
			"release":  ReleaseRequest{Many: Many{Refs: []string{"1"}}, ReleaseHow: ReleaseHow{Args: c.args}}.Check(),
			"resubmit": ResubmitRequest{Many: Many{Refs: []string{"1"}}, ResubmitHow: ResubmitHow{Args: c.args}}.Check(),
		} {
			if (err == nil) != c.want || err != nil && jjm.KindOf(err) != jjm.Invalid {
				t.Errorf("%s, %s: %v", verb, name, err)
			}
		}
	}
}
