package jjm

import "fmt"

// OtherCounts returns how many local jobs are in each state except completed, failures first, as the continuation of a
// sentence: ", 2 failed, 1 running, 1 given back". back is the number of local jobs whose work other local
// jobs do again; counts leaves these local jobs out.
func OtherCounts(counts [NumStates]int, back int) (text string) {
	for _, st := range [...]State{Failed, FailedFrozen, Killed, Held, Running, Completing, Submitted, Submitting, New} {
		if counts[st] > 0 {
			text += fmt.Sprintf(", %d %s", counts[st], st)
		}
	}
	if back > 0 {
		text += fmt.Sprintf(", %d given back", back)
	}
	return text
}
