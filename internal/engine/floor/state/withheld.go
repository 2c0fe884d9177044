package state

import "jjm/internal/jjm"

// Withholds reports whether a new local job of a grid job is not submitted, because a refusal stopped the submissions.
func Withholds(g *Grid, l *jjm.LocalJob) bool {
	return l.State == jjm.New && (g.Job.Stopped != "" || l.Phase == jjm.Unsubmitted)
}

// Refusal returns why local jobs of a grid job are not to be submitted: the stop of the submissions, or else the
// message of the first of these local jobs. It returns "" if all local jobs are submitted.
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

// ToWithhold returns at most n new local jobs that a stop of the submissions has not reached. It leaves out local jobs
// that are being killed.
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
