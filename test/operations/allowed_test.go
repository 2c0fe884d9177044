package operations_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// states are the states of local jobs, in the order of their life.
var states = []string{"new", "submitting", "submitted", "running", "completing", "held", "completed", "failed",
	"killed", "completed_frozen", "failed_frozen"}

// circumstances are facts besides the state of a local job on which the outcome of an operation depends.
type circumstances struct {
	reads, related bool
	over           bool // the grid job is over
	ending         bool // the grid job is not running: it is being prepared, killed or collected
	asked          bool // a kill, a hold or a forced state is requested and not carried out yet
	phase          string
	// dies is set if the daemon is killed during the operation. jjm may then have sent the request twice, and the first
	// request changed the local job.
	dies bool
}

// allowed returns the possible outcomes of an operation on a local job in a state, under the circumstances.
func (c circumstances) allowed(verb, state string) []outcome {
	want := []outcome{expected(verb, state)}
	switch {
	case c.phase == "given-back":
		return []outcome{noChange, refused} // another local job does the work
	case c.phase == "forced" && verb == "resubmit" && state == "completed":
		return []outcome{refused}
	case c.over && (verb == "resubmit" || verb == "resplit"):
	case c.over:
		return []outcome{noChange, refused}
	case c.ending, c.asked, c.dies:
		return []outcome{done, noChange, refused}
	}
	switch {
	case verb == "force failed" && state == "completed" && c.reads:
		return []outcome{refused} // retract makes lost outputs of a dataset again
	case verb == "resplit" && state == "failed" && !c.reads:
		return []outcome{refused} // generated events belong to one local job permanently
	case verb == "resplit" && state == "failed":
		want = append(want, refused) // a part of one event cannot be split
	case verb == "resubmit" && c.related:
		want = append(want, refused)
	case state == "submitting" && (verb == "hold" || verb == "set" || verb == "force failed"):
		want = []outcome{done, refused} // done for a local job that waits for its next attempt
	}
	return want
}

// expected returns the outcome of an operation on a local job of generated events in a state, while its grid job runs.
func expected(verb, state string) outcome {
	ended := slices.Contains([]string{"completed", "failed", "killed"}, state)
	frozen := strings.HasSuffix(state, "_frozen")
	live := !ended && !frozen
	switch verb {
	case "kill":
		return either(live, done, noChange)
	case "resubmit":
		return either(state == "failed" || state == "killed", done, refused)
	case "force failed":
		if state == "failed" {
			return noChange
		}
		return either(!frozen && state != "new" && state != "held", done, refused)
	case "force completed":
		if state == "completed" {
			return noChange
		}
		return either(state == "failed", done, refused)
	case "freeze":
		if frozen {
			return noChange
		}
		return either(ended, done, refused)
	case "unfreeze":
		return either(frozen, done, noChange)
	case "hold":
		return either(live && state != "held" && state != "completing", done, refused)
	case "release":
		return either(state == "held", done, noChange)
	case "set":
		return either(state == "new" || state == "held", done, refused)
	case "resplit":
		return either(state == "failed", done, refused)
	}
	panic("no operation: " + verb)
}

func either(is bool, yes, no outcome) outcome {
	if is {
		return yes
	}
	return no
}

// tally counts the outcomes of operations by state.
type tally map[[2]string]map[outcome]int

func (n tally) add(verb, state string, got outcome) {
	cell := [2]string{verb, state}
	if n[cell] == nil {
		n[cell] = map[outcome]int{}
	}
	n[cell][got]++
}

// String returns a line for each operation and state.
func (n tally) String() string {
	var b strings.Builder
	for _, verb := range sortedVerbs() {
		for _, state := range states {
			counts := n[[2]string{verb, state}]
			if len(counts) == 0 {
				continue
			}
			fmt.Fprintf(&b, "%-16s %-17s", verb, state)
			for _, got := range slices.Sorted(maps.Keys(counts)) {
				fmt.Fprintf(&b, " %s %d", got, counts[got])
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
