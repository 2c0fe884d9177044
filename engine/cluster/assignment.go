package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	"jjm"
	"jjm/handlers"
	"jjm/sandbox"
	"jjm/stream"
)

// maxAssigned is how many bytes the assignments of one bulk have in all, about: they
// are in memory at once.
const maxAssigned = 16 << 20

// assignments are what the wrappers of the next attempts of local jobs are told: of the
// first of them, as many as one bulk may have bytes of, at least one.
func (cs *Clusters) assignments(ctx context.Context, members []jjm.LocalJob) ([]sandbox.Assignment, error) {
	if err := cs.s.ReadInputs(ctx, members); err != nil {
		return nil, err
	}
	as := make([]sandbox.Assignment, 0, len(members))
	bytes := 0
	jobs := map[jjm.GridID]*jjm.GridJob{}
	for i := range members {
		l := &members[i]
		if jobs[l.ID.Grid] == nil {
			job := cs.s.JobOf(l.ID.Grid)
			jobs[l.ID.Grid] = &job
		}
		a, err := cs.assignment(jobs[l.ID.Grid], l)
		if err != nil {
			return nil, err
		}
		if bytes += a.Rough(); bytes > maxAssigned && i > 0 {
			break
		}
		as = append(as, a)
	}
	return as, nil
}

// assignment is what the wrapper of l's next attempt is told.
func (cs *Clusters) assignment(job *jjm.GridJob, l *jjm.LocalJob) (sandbox.Assignment, error) {
	if l.Step == jjm.StepMerge {
		return cs.mergeAssignment(job, l)
	}
	h, err := cs.b.Deps.Types.Get(job.Spec.Type)
	if err != nil {
		return sandbox.Assignment{}, err
	}
	return handlers.Assigned(h, &job.Spec, l)
}

// mergeAssignment is what the wrapper is told of a local job of the merge step.
func (cs *Clusters) mergeAssignment(job *jjm.GridJob, l *jjm.LocalJob) (sandbox.Assignment, error) {
	ar, err := cs.areas.Of(job.Owner)
	if err != nil {
		return sandbox.Assignment{}, err
	}
	part := l.Part
	in := *part.Input
	in.Files = make([]string, len(part.Input.Files))
	for i, lfn := range part.Input.Files {
		in.Files[i] = filepath.Join(ar.Root(), lfn)
	}
	in.Place, part.Input = nil, &in
	merge := *job.Spec.Merge
	for _, o := range stream.Names(&job.Spec, l) {
		merge.Output = o.Name
	}
	cmd, err := handlers.MergeCommand(&merge, &jjm.LocalJob{ID: l.ID, Part: part})
	if err != nil {
		return sandbox.Assignment{}, fmt.Errorf("merge command of %s: %w", l.ID, err)
	}
	return sandbox.Assignment{Grid: l.ID.Grid, Local: l.ID.N, Attempt: l.Attempt, Argv: cmd.Argv, Outputs: cmd.Outputs,
		RetryArgs: l.RetryArgs, Part: part, Merge: true}, nil
}
