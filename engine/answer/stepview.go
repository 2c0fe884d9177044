package answer

import (
	"context"

	"jjm"
	"jjm/wire"
)

// showSteps adds the steps to an answer that lacks them.
func (an *Answers) showSteps(ctx context.Context, job *jjm.GridJob, s *wire.Status) error {
	if s.Steps != nil {
		return nil
	}
	all, err := an.s.StepsOf(ctx, job)
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
		out = append(out, wire.Step{Step: c.Step, Name: jjm.StepName(c.Step), Done: c.Done(), Merging: c.Merging,
			Closed: c.Closed, Counts: n})
	}
	return out
}
