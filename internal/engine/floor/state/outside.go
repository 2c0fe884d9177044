package state

import (
	"jjm/internal/jjm"
)

// Outside is the status of a grid job as gatekeepers and people outside jjm see it. Package record computes it with
// plan.GRAM, plan.Master and plan.ExitCode.
type Outside struct {
	Counts  [jjm.NumStates]int
	Total   int
	Gram    jjm.GRAM
	Code    int
	Message string
	Master  string
	Exit    int
}

// Phases returns the progress that the applications of unfinished local jobs report: for each phase, the sums over
// these local jobs. It returns at most 32 phases, and none if no local job is submitted or running.
func (g *Grid) Phases() []jjm.Progress {
	var out []jjm.Progress
	at := map[string]int{}
	if g.Counts[jjm.Running] == 0 && g.Counts[jjm.Submitted] == 0 {
		return nil
	}
	for i := range g.Locals {
		l := &g.Locals[i]
		if l.Progress.Phase == "" || l.Over() {
			continue
		}
		n, known := at[l.Progress.Phase]
		if !known {
			if len(out) == 32 {
				continue
			}
			n = len(out)
			at[l.Progress.Phase] = n
			out = append(out, jjm.Progress{Phase: l.Progress.Phase})
		}
		out[n].Done += l.Progress.Done
		out[n].Total += l.Progress.Total
	}
	return out
}
