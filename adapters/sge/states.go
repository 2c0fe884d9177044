package sge

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// batchState translates the letters of qstat (qstat(1), "state"). A state may combine several letters, for example
// hRwq, Eqw or dr; then the most severe letter counts. The letter d, for a job that is being deleted, changes nothing.
func batchState(letters string) (jjm.BatchState, error) {
	if letters == "" || strings.Trim(letters, "dEhqwRtrsSTNPx") != "" {
		return jjm.BatchUnknown, fmt.Errorf("state %.20q is not one of qstat(1)", letters)
	}
	has := func(set string) bool { return strings.ContainsAny(letters, set) }
	switch {
	case has("E"):
		return jjm.BatchHold, nil
	case has("q") && has("h"):
		return jjm.BatchHold, nil
	case has("q"):
		return jjm.BatchQueued, nil
	case has("sSTNP"):
		return jjm.BatchSuspended, nil
	case has("t"):
		return jjm.BatchStarting, nil
	case has("rx"):
		return jjm.BatchRunning, nil
	}
	return jjm.BatchUnknown, fmt.Errorf("state %.20q is not one of qstat(1)", letters)
}

// inError, isHeld, isDying and isRerun report whether a state contains a single letter.
func inError(letters string) bool { return strings.Contains(letters, "E") }
func isHeld(letters string) bool  { return strings.Contains(letters, "h") }
func isDying(letters string) bool { return strings.Contains(letters, "d") }
func isRerun(letters string) bool { return strings.Contains(letters, "R") }
