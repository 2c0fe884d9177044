package handlers

import (
	"cmp"
	"fmt"
	"slices"

	"jjm"
	"jjm/sandbox"
	"jjm/stream"
)

// Assigned is what the wrapper of the next attempt of a local job is told. The local job is
// none of a merge step.
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
		Argv: cmd.Argv, Env: cmd.Env, Outputs: cmd.Outputs, Log: keepsLog,
		RetryArgs: l.RetryArgs, Part: part,
	}, nil
}

// Shared is what the wrappers of all local jobs of a grid job are told by its job file.
// Package and files, credentials and the site's limits are the caller's to add.
func Shared(grid jjm.GridID, spec *jjm.Spec) sandbox.Job {
	return sandbox.Job{Grid: grid, Env: spec.Env, Outputs: spec.Outputs, Result: spec.Result,
		Mode: cmp.Or(spec.Mode, "Production"), CPUTime: spec.Request.CPUTime}
}
