package state

import "jjm/internal/jjm"

// Withholds reports whether a local job in state new is not to be submitted: a batch system refused it, or a refusal
// stopped the submissions of the grid job.
func Withholds(g *Grid, l *jjm.LocalJob) bool {
	return l.State == jjm.New && (g.Job.Stopped != "" || l.Phase == jjm.Unsubmitted)
}

// Refusal returns the reason why local jobs of a grid job are not to be submitted: the reason why its submissions
// stopped, or else the message of the first such local job. It returns "" if no local job is withheld from submission.
func Refusal(g *Grid) string {
	if g.Unsubmitted == 0 || g.Job.Stopped != "" {
		return g.Job.Stopped
	}
	for i := range g.Locals {
		if l := &g.Locals[i]; l.IsUnsubmitted() {
			return l.Message
		}
	}
	return ""
}

// ToWithhold returns at most n new local jobs that still have to be marked as not to be submitted, because a refusal
// stopped the submissions of the grid job. It leaves out local jobs that are being killed.
func ToWithhold(g *Grid, n int) (found []jjm.LocalID) {
	if g.Job.Stopped == "" || g.Counts[jjm.New] == g.Unsubmitted {
		return nil
	}
	for i := range g.Locals {
		l := &g.Locals[i]
		if l.State == jjm.New && !l.Kill && !l.IsUnsubmitted() {
			if found = append(found, l.ID); len(found) == n {
				break
			}
		}
	}
	return found
}
