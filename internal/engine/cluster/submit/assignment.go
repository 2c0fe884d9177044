package submit

import (
	"context"
	"fmt"
	"path/filepath"

	"jjm/handlers"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/work/stream"
	"jjm/sandbox"
)

// maxAssigned is the greatest estimated size, in bytes, of the assignments of one bulk. It is limited because all
// assignments of a bulk are in memory at the same time.
const maxAssigned = 16 << 20

// assigner makes the assignments of attempts.
type assigner struct {
	b       *base.Base
	s       *state.State
	areas   *areas.Areas
	lineage *lineage.Lineage
}

// assignments returns the assignments for the next attempts of local jobs. An assignment is the description of one
// attempt's work, which the wrapper reads on the worker. The result has one assignment for each of the first members,
// and fewer than members if their sizes exceed maxAssigned, but at least one.
func (by *assigner) assignments(ctx context.Context, members []jjm.LocalJob) ([]sandbox.Assignment, error) {
	if err := by.s.ReadInputs(ctx, members); err != nil {
		return nil, err
	}
	as := make([]sandbox.Assignment, 0, len(members))
	bytes := 0
	jobs := map[jjm.GridID]*assigning{}
	for i := range members {
		l := &members[i]
		if jobs[l.ID.Grid] == nil {
			g := &assigning{job: by.s.JobOf(l.ID.Grid)}
			var err error
			if g.opened, err = by.lineage.Opening(ctx, &g.job); err != nil {
				return nil, err
			}
			jobs[l.ID.Grid] = g
		}
		a, err := by.assignment(ctx, jobs[l.ID.Grid], l)
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

// assigning is a grid job for whose local jobs assignments are being made. opened are the files of other local jobs
// that its local jobs read.
type assigning struct {
	job    jjm.GridJob
	opened *lineage.Opened
}

// assignment returns the assignment for the next attempt of l, a local job of the grid job g. The errors are errors of
// the job type and of the work area.
func (by *assigner) assignment(ctx context.Context, g *assigning, l *jjm.LocalJob) (sandbox.Assignment, error) {
	if l.Step == jjm.StepMerge {
		return by.mergeAssignment(&g.job, l)
	}
	h, err := by.b.Deps.Types.Get(g.job.Spec.Type)
	if err != nil {
		return sandbox.Assignment{}, err
	}
	ar, err := by.areas.Of(g.job.Owner)
	if err != nil {
		return sandbox.Assignment{}, err
	}
	reads, folder := *l, ar.InDir(l.AttemptID())
	var given []lineage.Given
	if reads.Part.Input, given, err = g.opened.Part(ctx, l.Part.Input, folder); err != nil {
		return sandbox.Assignment{}, fmt.Errorf("files of %s: %w", l.ID, err)
	}
	a, err := handlers.Assigned(h, &g.job.Spec, &reads)
	for _, f := range given {
		a.Given, a.In = append(a.Given, sandbox.Given{Link: f.Link, Path: f.Path, Size: f.Size}), folder
	}
	return a, err
}

// mergeAssignment returns the assignment for the next attempt of l, a local job that merges. Its input files are
// outputs of other local jobs, named by their paths in the work area.
func (by *assigner) mergeAssignment(job *jjm.GridJob, l *jjm.LocalJob) (sandbox.Assignment, error) {
	ar, err := by.areas.Of(job.Owner)
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
