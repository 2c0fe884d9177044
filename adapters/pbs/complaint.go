package pbs

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// operandError matches an error about one operand: "qdel: Job has finished 28.pbshost".
var operandError = regexp.MustCompile(`^q[a-z]+: (.*[^ ]) +([0-9]+(?:\[[^\]]*\])?)(?:\.[^ ]*)? *$`)

// complaints returns the error text for each operand, by job id, and the lines that name no operand.
func complaints(stderr []byte) (by map[string]string, rest []string) {
	by = map[string]string{}
	for line := range strings.Lines(string(stderr)) {
		line = strings.TrimSpace(line)
		if m := operandError.FindStringSubmatch(line); m != nil {
			by[m[2]] = m[1]
		} else if line != "" {
			rest = append(rest, line)
		}
	}
	return by, rest
}

// alreadyOver are parts of the messages about jobs that have already ended.
var alreadyOver = []string{
	"Job has finished", "finished array subjob", "already in exit state", "COMPLETE", "invalid state for job - EXITING",
}

// controlError classifies a message about one operand. It returns nil if the job is already in the wanted state.
func controlError(op adapters.Op, text, operand string) error {
	for _, over := range alreadyOver {
		if strings.Contains(text, over) {
			return nil
		}
	}
	switch {
	case strings.Contains(text, "Unknown Job Id") && op == adapters.Cancel:
		return nil
	case strings.Contains(text, "Unknown Job Id"):
		return jjm.Errorf(jjm.Gone, "%s %s: %s", verbs[op], operand, text)
	case strings.Contains(text, "Unauthorized"):
		return jjm.Errorf(jjm.Denied, "%s %s: %s", verbs[op], operand, text)
	case strings.Contains(text, "Invalid request"):
		return jjm.Errorf(jjm.Conflict, "%s %s: %s", verbs[op], operand, text)
	}
	return jjm.Errorf(jjm.Busy, "%s %s: %s", verbs[op], operand, text)
}

// indexRun is a run of neighbouring indices, "3" or "5-9", and the positions of the references to these members.
type indexRun struct {
	text string
	refs []int
}

// runs joins the members of a target into runs. The target may contain a member twice.
func (t target) runs() []indexRun {
	list := slices.SortedFunc(slices.Values(t.members), func(a, b memberRef) int { return int(a.index - b.index) })
	var out []indexRun
	for i := 0; i < len(list); {
		first, last := list[i].index, list[i].index
		r := indexRun{}
		for ; i < len(list) && list[i].index <= last+1; i++ {
			last = list[i].index
			r.refs = append(r.refs, list[i].ref)
		}
		r.text = strconv.Itoa(int(first))
		if last > first {
			r.text += "-" + strconv.Itoa(int(last))
		}
		out = append(out, r)
	}
	return out
}
