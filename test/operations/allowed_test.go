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
	ending         bool // the grid job is not running: it is prepared, killed, collected or about to be reopened
	asked          bool // a kill, a hold or a forced state is on its way
	// still is set if the local job keeps its state and phase meanwhile, and no retry of its submission waits.
	still bool
	phase string
}

// allowed returns the possible outcomes of an operation on a local job in a state, under the circumstances.
func (c circumstances) allowed(verb, state string) []outcome {
	switch {
	case c.phase == "given-back":
		return []outcome{noChange, refused} // another local job does the work
	case c.phase == "forced" && verb == "resubmit" && state == "completed":
		return []outcome{refused}
	case c.over && verb != "resubmit" && verb != "resplit":
		return []outcome{noChange, refused}
	}
	want := c.alone(verb, state)
	if c.asked {
		want = append(want, whileAsked(verb)...)
	}
	if c.ending {
		want = append(want, whileEnding(verb))
	}
	return want
}

// alone returns the possible outcomes if the grid job runs, or is over, and no other operation is on its way.
func (c circumstances) alone(verb, state string) []outcome {
	again := state == "failed" || state == "killed"
	switch want := expected(verb, state); {
	case verb == "force failed" && state == "completed" && c.reads:
		return []outcome{refused} // retract does what follows for its dataset
	case verb == "resplit" && again && !c.reads:
		return []outcome{refused} // generated events belong to one local job for good
	case verb == "resplit" && again:
		return []outcome{want, refused} // one event cannot be cut
	case verb == "resubmit" && c.related:
		return []outcome{want, refused}
	case !c.still && state == "submitting" && (verb == "hold" || verb == "set" || verb == "force failed"):
		return []outcome{done, refused} // done of retry-wait, before the next attempt is submitted
	default:
		return []outcome{want}
	}
}

// whileAsked returns the further outcomes of an operation on a local job while a kill, a hold or a forced state is on
// its way: a second kill and a second force-status change nothing, what is killed is neither held nor set nor released,
// and the release of a hold on its way is done.
func whileAsked(verb string) []outcome {
	switch verb {
	case "kill", "force failed":
		return []outcome{noChange}
	case "hold", "set":
		return []outcome{refused}
	case "release":
		return []outcome{done, noChange}
	}
	return nil
}

// whileEnding returns the further outcome of an operation while the grid job does not run. Nothing is left to kill or
// to release then; all other operations are refused.
func whileEnding(verb string) outcome {
	return either(verb == "kill" || verb == "release", noChange, refused)
}

// expected returns what an operation does with a local job of generated events in a state, while its grid job runs.
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
		if state == "completed" || state == "failed" {
			return noChange
		}
		return either(frozen, done, refused)
	case "hold":
		return either(live && state != "held" && state != "completing", done, refused)
	case "release":
		return either(state == "held", done, noChange)
	case "set":
		return either(state == "new" || state == "held", done, refused)
	case "resplit":
		return either(state == "failed" || state == "killed", done, refused)
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
