package engine

import (
	"context"
	"fmt"

	"jjm"
	"jjm/sandbox"
)

// maxAssigned is how many bytes the assignments of one bulk have in all, about: they
// are in memory at once.
const maxAssigned = 16 << 20

// assignments are what the wrappers of the next attempts of local jobs are told: of the
// first of them, as many as one bulk may have bytes of, at least one.
func (e *Engine) assignments(ctx context.Context, members []jjm.LocalJob) ([]sandbox.Assignment, error) {
	if err := e.readInputs(ctx, members); err != nil {
		return nil, err
	}
	as := make([]sandbox.Assignment, 0, len(members))
	bytes := 0
	jobs := map[jjm.GridID]*jjm.GridJob{}
	for i := range members {
		l := &members[i]
		if jobs[l.ID.Grid] == nil {
			job := e.jobOf(l.ID.Grid)
			jobs[l.ID.Grid] = &job
		}
		a, err := e.assignment(jobs[l.ID.Grid], l)
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
func (e *Engine) assignment(job *jjm.GridJob, l *jjm.LocalJob) (sandbox.Assignment, error) {
	if l.Step == jjm.StepMerge {
		return e.mergeAssignment(job, l)
	}
	spec := &job.Spec
	h, err := e.deps.Types.Get(spec.Type)
	if err != nil {
		return sandbox.Assignment{}, err
	}
	cmd, err := h.Command(spec, l)
	if err != nil {
		return sandbox.Assignment{}, fmt.Errorf("command of %s: %w", l.ID, err)
	}
	return sandbox.Assignment{
		Grid: l.ID.Grid, Local: l.ID.N, Attempt: l.Attempt,
		Argv: cmd.Argv, Env: cmd.Env, Outputs: cmd.Outputs,
		RetryArgs: l.RetryArgs, Part: l.Part,
	}, nil
}

// readInputs fills in what the parts of local jobs read, which is not kept in
// memory.
func (e *Engine) readInputs(ctx context.Context, ls []jjm.LocalJob) error {
	wanted := map[jjm.GridID][]int32{}
	for i := range ls {
		if unit := ls[i].Part.Unit; unit != jjm.UnitEvent && unit != jjm.UnitRow {
			wanted[ls[i].ID.Grid] = append(wanted[ls[i].ID.Grid], ls[i].ID.N)
		}
	}
	for id, numbers := range wanted {
		inputs, err := e.store.PartInputs(ctx, id, numbers)
		if err != nil {
			return err
		}
		for i := range ls {
			if in, ok := inputs[ls[i].ID.N]; ok && ls[i].ID.Grid == id {
				ls[i].Part.Input, ls[i].Origin = in.Input, in.Origin
			}
		}
	}
	return nil
}
