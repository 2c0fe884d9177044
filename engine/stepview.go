package engine

import (
	"context"
	"jjm"
	"jjm/wire"
)

// inputsOf gives what a grid job reads, for people.
func (e *Engine) inputsOf(ctx context.Context, job *jjm.GridJob) ([]wire.Input, error) {
	if len(job.Spec.Datasets) == 0 && job.Merging == nil {
		return nil, nil
	}
	inputs, err := e.store.Inputs(ctx, job.ID)
	var out []wire.Input
	for _, in := range inputs {
		out = append(out, wire.Input{Dataset: in.Name, Master: in.Master, Open: !in.Closed, Counts: in.Counts})
	}
	return out, err
}

// showSteps adds the steps to an answer that lacks them.
func (e *Engine) showSteps(ctx context.Context, job *jjm.GridJob, s *wire.Status) error {
	if s.Steps != nil {
		return nil
	}
	all, err := e.stepsOf(ctx, job)
	s.Steps = wireSteps(job, all)
	return err
}

// wireSteps is how people see steps.
func wireSteps(job *jjm.GridJob, all []jjm.StepCounts) []wire.Step {
	var out []wire.Step
	for _, c := range all {
		n := counts(c.Counts, 0, job)
		n.Expected, n.GivenBack, n.Total = c.Expected, c.GivenBack, c.GivenBack
		for _, k := range c.Counts {
			n.Total += k
		}
		out = append(out, wire.Step{Step: c.Step, Name: jjm.StepName(c.Step), Done: c.Done(), Merging: c.Merging, Closed: c.Closed, Counts: n})
	}
	return out
}
