package handlers

import (
	"fmt"
	"slices"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// End maps exit codes of an application to a verdict: an attempt that ends with one of ExitCodes gets Action.
type End struct {
	// ExitCodes are numbers from 0 to 255; 128+n also means an end by signal n.
	ExitCodes []int64 `toml:"exit_codes" json:"exit_codes"`
	// Action is complete, retry, hold or fail; Text is the meaning of the exit codes.
	Action jjm.Action `toml:"action" json:"action"`
	Text   string     `toml:"text" json:"text"`
	// RetryArgs are the arguments of the next attempt if Action is retry; nil keeps the current arguments.
	RetryArgs []string `toml:"retry_args" json:"retry_args,omitempty"`
}

// Ends are the verdicts that a job type defines for exit codes. Each exit code is in at most one End.
type Ends []End

// Check returns the problems with the ends; field is the name of the list.
func (es Ends) Check(field string) (problems jjm.Problems) {
	known := map[int64]int{}
	for i, e := range es {
		bad := func(key, format string, args ...any) {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("%s[%d].%s", field, i, key),
				Text: fmt.Sprintf(format, args...)})
		}
		if len(e.ExitCodes) == 0 {
			bad("exit_codes", "is missing: a list such as [75]")
		}
		for _, code := range e.ExitCodes {
			if code < 0 || code > 255 {
				bad("exit_codes", "%d is out of range: want 0 to 255", code)
			}
			if first, twice := known[code]; twice {
				bad("exit_codes", "%d is in %s[%d] already: give it once", code, field, first)
			}
			known[code] = i
		}
		if !slices.Contains([]jjm.Action{jjm.Complete, jjm.Retry, jjm.Hold, jjm.Fail}, e.Action) {
			bad("action", "%.40q: want %s, %s, %s or %s", e.Action, jjm.Complete, jjm.Retry, jjm.Hold, jjm.Fail)
		}
		if e.Text == "" {
			bad("text", "is missing: what the exit codes mean, for people")
		}
		if e.RetryArgs != nil && e.Action != jjm.Retry {
			bad("retry_args", "mean nothing unless action is %s", jjm.Retry)
		}
	}
	return problems
}

// Opinion returns the opinion of a job type about an attempt. If analysed is set, a command of the type judged the
// attempt on the worker; its opinion comes first. Otherwise the opinion is the End with the attempt's exit code, nil if
// there is none.
func (es Ends) Opinion(analysed bool, result *jjm.Result) *jjm.Opinion {
	if analysed && result.Opinion != nil {
		return result.Opinion
	}
	for i := range es {
		if e := &es[i]; slices.Contains(e.ExitCodes, int64(result.Exit)) {
			return &jjm.Opinion{Action: e.Action, Text: fmt.Sprintf("exit code %d: %s", result.Exit, e.Text),
				RetryArgs: e.RetryArgs}
		}
	}
	return nil
}

// CheckPhase returns what is wrong with the name of a phase, "" if the name is valid. The empty name is valid.
func CheckPhase(name string) string {
	if name == "" || sandbox.ValidPhases([]jjm.AppPhase{{Progress: jjm.Progress{Phase: name}}}) {
		return ""
	}
	return fmt.Sprintf("%.80q: want the name of a phase, one word of at most 64 letters", name)
}

// PhaseShown returns the progress of the phase with this name. If that phase was not reported yet, it returns the phase
// that was reported last. If the application reports no total for the named phase, the total is the number of units of
// the part, or the number done if that number is larger. There must be at least one phase.
func PhaseShown(name string, part *jjm.Part, phases []jjm.AppPhase) jjm.Progress {
	i := slices.IndexFunc(phases, func(p jjm.AppPhase) bool { return p.Phase == name })
	if i < 0 {
		return phases[sandbox.LastPhase(phases)].Progress
	}
	p := phases[i].Progress
	if p.Total == 0 {
		p.Total = max(part.Count, p.Done)
	}
	return p
}
