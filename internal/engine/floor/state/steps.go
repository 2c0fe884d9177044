package state

import (
	"context"

	"jjm/internal/jjm"
)

// tallied contains numbers of local jobs of one step of a grid job: givenBack is the number of those that gave their
// work back to other local jobs, counts has the numbers of all others by state.
type tallied struct {
	counts    [jjm.NumStates]int
	givenBack int
}

// tally adds d to the counters to which a local job belongs, for the grid job and for its step: GivenBack, or else
// Counts, Unsubmitted and Forced. d is 1 for a new row and -1 for a row that is replaced.
func (g *Grid) tally(l *jjm.LocalJob, d int) {
	g.tallyStep(l, d)
	if l.Phase == jjm.GivenBack {
		g.GivenBack += d
		return
	}
	g.Counts[l.State] += d
	if l.IsUnsubmitted() {
		g.Unsubmitted += d
	}
	if l.IsForced() {
		g.Forced += d
	}
}

// tallyStep adds d to the counters of a local job's step.
func (g *Grid) tallyStep(l *jjm.LocalJob, d int) {
	t := &g.bySteps[min(l.Step, jjm.StepMerge)]
	if l.Phase == jjm.GivenBack {
		t.givenBack += d
		return
	}
	t.counts[l.State] += d
}

// Steps returns the counts of a grid job's local jobs by step. It returns nil if the grid job has only one step, or if
// not all its local jobs are in memory; StepsOf then reads the counts from the store.
func (g *Grid) Steps() []jjm.StepCounts {
	made := 0
	for _, t := range g.bySteps {
		made += t.givenBack
		for _, n := range t.counts {
			made += n
		}
	}
	if g.Job.Merging == nil || made != g.Job.Step.Made {
		return nil
	}
	all := make([]jjm.StepCounts, len(g.bySteps))
	for step, t := range g.bySteps {
		all[step] = jjm.StepCounts{Step: int32(step), Counts: t.counts, GivenBack: t.givenBack}
	}
	all[jjm.StepWork].Merging = g.Merging
	expect(&g.Job, all)
	return all
}

// expect sets, in the counts of each step, how many local jobs the step is expected to have (Expected) and whether it
// will make no more (Closed).
func expect(job *jjm.GridJob, all []jjm.StepCounts) {
	m := job.Merging
	for i := range all {
		c := &all[i]
		c.Expected, c.Closed = job.Step.Expected-m.Made-c.GivenBack, job.Step.Closed
		if c.Step == jjm.StepMerge {
			c.Expected, c.Closed = m.Made-c.GivenBack, m.Closed
		}
	}
}

// StepsOf returns the counts of a grid job's local jobs by step, read from the store. It is for grid jobs whose local
// jobs are not all in memory. It returns nil for a grid job with only one step.
func (s *State) StepsOf(ctx context.Context, job *jjm.GridJob) ([]jjm.StepCounts, error) {
	if job.Merging == nil {
		return nil, nil
	}
	all, err := s.B.Store.StepCounts(ctx, job.ID)
	expect(job, all)
	return all, err
}
