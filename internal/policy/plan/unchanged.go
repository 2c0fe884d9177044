package plan

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// Unchanged returns the reason, for people, why a command changed no local job of a grid job. selected are the local
// jobs that the command named, and none is the part of the sentence that names what it looked for:
//
//	the grid job is over     "grid job 3 is over already: done"
//	it is being killed       "grid job 3 is being killed already"
//	one local job            "local job 3.1 is running"
//	several local jobs       "no local job is held: 3 completed, 1 running"
//	no local job             "no local job is held"
func Unchanged(job *jjm.GridJob, selected []*jjm.LocalJob, none string) string {
	switch {
	case job.Status.Final():
		return fmt.Sprintf("grid job %s is over already: %s", job.ID, job.Status)
	case job.Kill:
		return fmt.Sprintf("grid job %s is being killed already", job.ID)
	case len(selected) == 0:
		return none
	case len(selected) == 1:
		return fmt.Sprintf("local job %s is %s", selected[0].ID, standing(selected[0]))
	}
	counts, words := map[string]int{}, []string(nil)
	for _, l := range selected {
		word := standing(l)
		if counts[word]++; counts[word] == 1 {
			words = append(words, word)
		}
	}
	for i, word := range words {
		words[i] = fmt.Sprintf("%d %s", counts[word], word)
	}
	return none + ": " + strings.Join(words, ", ")
}

// standing returns the state of a local job, or what else keeps a command from changing the local job.
func standing(l *jjm.LocalJob) string {
	switch {
	case !l.Over() && l.Kill:
		return "being killed already"
	case !l.Over() && (l.IsHeld() || l.Holding.Keeps()):
		return "held already"
	}
	return jjm.StateWord(l.State, l.Phase)
}
