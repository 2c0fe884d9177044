package jjm_test

import (
	"fmt"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/testkit/golden"
)

// transitionRow is a row of ganga_transitions, the recorded changes of state that Ganga allows. A row without To is
// about Ganga's command force_status.
type transitionRow struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Public bool   `json:"ganga_public_allowed"`
}

func TestTransitions_GoldenRows(t *testing.T) {
	golden.Rows(t, "jedi/ganga_transitions", func(_ string, row transitionRow) string {
		var from, to jjm.State
		if row.To == "" {
			return "" // a row about force_status
		}
		if from.UnmarshalText([]byte(row.From)) != nil || to.UnmarshalText([]byte(row.To)) != nil {
			return stranger(row)
		}
		here, own := from == to, false // a state may always stay as it is
		for _, m := range jjm.Transitions() {
			if m.From == from && m.To == to {
				here, own = true, m.Why != "ganga"
			}
		}
		if here != (row.Public || own) {
			return fmt.Sprintf("allowed: %v, of jjm's own: %v", here, own)
		}
		return ""
	})
}

// stranger judges a row with a state that jjm does not have for local jobs. It returns "" if this state of Ganga is
// known to be absent in jjm (such as removed, because jjm removes only whole grid jobs), and otherwise a problem.
func stranger(row transitionRow) string {
	known := map[string]bool{"incomplete": true, "removed": true, "template": true, "unknown": true}
	if !known[row.From] && !known[row.To] {
		return "no state of jjm, and none of those that it leaves out"
	}
	return ""
}

// Transitions lists each change of state once. For each change that Ganga does not have, it names the decision of jjm
// that adds the change.
func TestTransitions_EachIsThereOnceWithItsReason(t *testing.T) {
	seen := map[[2]jjm.State]bool{}
	for _, m := range jjm.Transitions() {
		arrow := [2]jjm.State{m.From, m.To}
		if seen[arrow] || m.From == m.To {
			t.Errorf("%s to %s is there twice, or changes nothing", m.From, m.To)
		}
		seen[arrow] = true
		var decision int
		if _, err := fmt.Sscanf(m.Why, "R%d: ", &decision); m.Why != "ganga" && err != nil {
			t.Errorf("%s to %s: %q names no decision", m.From, m.To, m.Why)
		}
	}
}
