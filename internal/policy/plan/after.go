package plan

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// Predecessor is a grid job that must end before another grid job begins.
type Predecessor struct {
	ID     jjm.GridID
	Status jjm.GridStatus
	// Reopening is true if the grid job is over and about to begin its next generation.
	Reopening bool
}

// Over reports whether the grid job has ended and is not being reopened.
func (p Predecessor) Over() bool { return p.Status.Final() && !p.Reopening }

// endsAs reports whether the grid job is over in the required way, a word of jjm.AfterEnds.
func (p Predecessor) endsAs(end string) bool {
	switch end {
	case jjm.AfterAny:
		return p.Over()
	case jjm.AfterFailed:
		return p.Over() && p.Status != jjm.Done
	}
	return p.Over() && p.Status == jjm.Done
}

// maxAwaited is the greatest number of unfinished predecessors that a text names.
const maxAwaited = 5

// After decides whether a grid job may begin that must wait until its predecessors have ended. The word end, one of
// jjm.AfterEnds, says how they must end. The first match counts:
//
//	a predecessor has ended in another way  never is the reason why the grid job will not begin
//	a predecessor is not over               waits names the predecessors that are not over
//	all have ended that way                 both are empty
//
// For a reopened predecessor, its present generation counts. For a removed predecessor, the end before its removal
// counts.
func After(all []Predecessor, end string) (waits, never string) {
	var awaited []Predecessor
	for _, p := range all {
		switch {
		case p.endsAs(end):
		case p.Over():
			return "", fmt.Sprintf("it was to begin only if grid job %s ended %s (after_end = %q), but that ended as %s",
				p.ID, wayOf(end), end, p.Status)
		default:
			awaited = append(awaited, p)
		}
	}
	if len(awaited) == 0 {
		return "", ""
	}
	return fmt.Sprintf("waits for the end of %s %s", named(awaited), wayOf(end)), ""
}

// wayOf describes a required end.
func wayOf(end string) string {
	switch end {
	case jjm.AfterAny:
		return "in any way"
	case jjm.AfterFailed:
		return "in any way but done"
	}
	return "as done"
}

// named returns the names of grid jobs with their statuses: "grid jobs 12 (running) and 13 (pending)".
func named(all []Predecessor) string {
	var names []string
	for _, p := range all[:min(len(all), maxAwaited)] {
		status := p.Status.String()
		if p.Reopening {
			status = "is being reopened"
		}
		names = append(names, fmt.Sprintf("%s (%s)", p.ID, status))
	}
	if more := len(all) - maxAwaited; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if last := len(names) - 1; last > 0 {
		return "grid jobs " + strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return "grid job " + names[0]
}
