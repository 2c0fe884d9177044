package handlers

import (
	"cmp"
	"fmt"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/work/stream"
	"jjm/sandbox"
)

// Assigned returns the assignment for the wrapper of a local job's next attempt. It is used for the work step; the
// engine makes the assignments of merges. It returns the error of [CommandOf].
func Assigned(h Handler, spec *jjm.Spec, l *jjm.LocalJob) (sandbox.Assignment, error) {
	cmd, err := CommandOf(h, spec, l)
	if err != nil {
		return sandbox.Assignment{}, fmt.Errorf("command of %s: %w", l.ID, err)
	}
	part := l.Part
	part.Streams = stream.Of(spec, l)
	keepsLog := slices.ContainsFunc(stream.Names(spec, l), func(o stream.Named) bool { return o.Log })
	return sandbox.Assignment{
		Grid: l.ID.Grid, Local: l.ID.N, Attempt: l.Attempt,
		Argv: cmd.Argv, Env: cmd.Env, Outputs: cmd.Outputs, Required: cmd.Required, Optional: cmd.Optional,
		Analyse: cmd.Analyse, Log: keepsLog,
		RetryArgs: l.RetryArgs, Part: part,
	}, nil
}

// Shared returns the settings for the wrappers of all local jobs of a grid job. The caller adds package, files,
// credentials and the site's limits. If the grid job has a merge or an output dataset, all outputs of the job file are
// required.
func Shared(grid jjm.GridID, spec *jjm.Spec) sandbox.Job {
	wanted, required := spec.Outputs, spec.OutputsRequired
	if spec.NeedsOutputs() {
		wanted, required = nil, slices.Concat(required, wanted)
	}
	return sandbox.Job{Grid: grid, Env: spec.Env, Outputs: wanted, Required: required, Optional: spec.OutputsOptional,
		Result: spec.Result,
		Mode:   cmp.Or(spec.Mode, "Production"), CPUTime: spec.Request.CPUTime}
}
