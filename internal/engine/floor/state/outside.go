package state

import (
	"jjm/internal/jjm"
)

// Outside is the status of a grid job as gatekeepers and people see it. Package
// record computes it with plan.GRAM, plan.Master and plan.ExitCode.
type Outside struct {
	Counts  [jjm.NumStates]int
	Total   int
	Gram    jjm.GRAM
	Code    int
	Message string
	Master  string
	Exit    int
}

// Phases returns the progress of the running local jobs, summed by phase, at most 32
// phases.
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
