package request

import (
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// unchanged returns the notes of an answer that changes nothing: the reason, see [plan.Unchanged]. g is nil if the grid
// job is not in memory; job is its row then.
func unchanged(job *jjm.GridJob, g *state.Grid, ref jjm.Ref, none string) []string {
	if g == nil {
		return []string{plan.Unchanged(job, nil, none)}
	}
	var selected []*jjm.LocalJob
	for i := range g.Locals {
		if l := &g.Locals[i]; !ref.Locals || ref.Has(l.ID.N) {
			selected = append(selected, l)
		}
	}
	return []string{plan.Unchanged(&g.Job, selected, none)}
}
