package plan

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// Predecessor is a grid job after whose end another grid job is to begin.
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

// maxAwaited is the greatest number of awaited grid jobs that a text names.
const maxAwaited = 5

// After decides whether a grid job may begin that is to begin once other grid jobs have ended in the way end, a word of
// jjm.AfterEnds. The first match counts:
//
//	one of them has ended in another way    never says so: the grid job will not begin
//	one of them is not over                 waits says which ones
//	all have ended that way                 both are empty
//
// For a reopened grid job its present generation counts, for a removed grid job its end.
func After(all []Predecessor, end string) (waits, never string) {
	var awaited []Predecessor
	for _, p := range all {
		switch {
		case p.endsAs(end):
		case p.Over():
			return "", fmt.Sprintf("grid job %s ended as %s, and this one was to begin after its end %s (after_end = %q)",
				p.ID, p.Status, wayOf(end), end)
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
