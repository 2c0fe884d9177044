package plan

import (
	"fmt"

	"jjm/internal/jjm"
)

// Settable returns the numbers of the selected local jobs whose resources can be changed, because they wait for a
// submission or are held before a submission. left lists the selected local jobs that are not changed, with the
// reasons. If the request names the grid job as a whole, local jobs that are over are not in left.
func Settable(f ResubmitFacts) (set []int32, left []Left) {
	for i := range f.Locals {
		l := &f.Locals[i]
		named := f.Named != nil && f.Named(l.ID.N)
		if !named && !f.Whole {
			continue
		}
		why := fixed(l)
		switch {
		case why == "":
			set = append(set, l.ID.N)
		case named || !l.Over():
			left = append(left, Left{N: l.ID.N, Why: why})
		}
	}
	return set, left
}

// fixed returns the reason why the resources of a local job cannot be changed, "" if they can be changed.
func fixed(l *jjm.LocalJob) string {
	switch {
	case l.Over():
		return "it is over: jjm resubmit changes what it requests when it runs again"
	case l.Kill:
		return "it is being killed"
	case l.State == jjm.New, l.State == jjm.Held, l.State == jjm.Submitting && l.Phase == jjm.RetryWait:
		return ""
	case l.IsMerging():
		return "its work is done; its outputs wait to be merged"
	case l.State == jjm.Running || l.State == jjm.Completing:
		return fmt.Sprintf("it runs with what it requested: kill it (jjm kill %s), then jjm resubmit changes it", l.ID)
	}
	return fmt.Sprintf("it is %s with what it requested: take it back first (jjm hold %s), or kill it and resubmit it",
		jjm.StateWord(l.State, l.Phase), l.ID)
}
