package handlers

import (
	"fmt"
	"slices"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/work/stream"
	"jjm/sandbox"
)

// Streams returns the placeholders that a job file adds to the placeholders of its type, for ParseCommand: the job
// file's streams, and the sequence number if the job file requests sequence numbers.
func Streams(spec *jjm.Spec) []string {
	all := stream.Placeholders(spec)
	if stream.HasSequence(spec) {
		all = append(all, "{sequence}")
	}
	return all
}

// CommandOf returns the command of a local job, with the values of its job file's streams, and with the outputs that
// templates name. It returns the error of the type's method Command.
func CommandOf(h Handler, spec *jjm.Spec, l *jjm.LocalJob) (Command, error) {
	job := *l
	job.Part.Streams = stream.Of(spec, l)
	cmd, err := h.Command(spec, &job)
	if err != nil {
		return cmd, err
	}
	for _, o := range stream.Names(spec, l) {
		name, ok := strings.CutPrefix(o.From, sandbox.WorkName+"/")
		switch {
		case ok && o.Optional:
			cmd.Optional = append(slices.Clone(cmd.Optional), name)
		case ok && (o.Required || spec.NeedsOutputs() && l.Step == jjm.StepWork):
			cmd.Required = append(slices.Clone(cmd.Required), name)
		case ok:
			cmd.Outputs = append(slices.Clone(cmd.Outputs), name)
		}
	}
	return cmd, nil
}

// CommandForeseen returns the command that a local job will probably have, for a preview, or the error of [CommandOf].
// It assumes that the local job is at position place of its step, counted from 0; the names of outputs follow from this
// position.
func CommandForeseen(h Handler, spec *jjm.Spec, part *jjm.Part, place int) (Command, error) {
	l := jjm.LocalJob{ID: jjm.LocalID{N: int32(place)}, Part: *part}
	l.Part.Serials = stream.Foreseen(spec, jjm.StepWork, place)
	return CommandOf(h, spec, &l)
}

// checkSerials returns a problem if there are more local jobs than an output template has serial numbers, provided that
// the number of local jobs is known.
func checkSerials(h Handler, spec *jjm.Spec, site Site) (problems jjm.Problems) {
	if !slices.ContainsFunc(spec.OutputTemplates, func(t jjm.OutputTemplate) bool { return t.MaxSerial > 0 }) {
		return nil
	}
	cut, err := SplitBy(h, spec, site)
	if err != nil {
		return jjm.Problems{{Field: "params", Text: err.Error()}}
	}
	for i, t := range spec.OutputTemplates {
		last := stream.First(spec) + int64(cut.Jobs) - 1
		if t.MaxSerial > 0 && last > t.MaxSerial {
			problems = append(problems, jjm.Problem{Field: fmt.Sprintf("output_templates[%d].max_serial", i), Text: fmt.Sprintf(
				"%d is less than the %d that the last of %d local jobs would get: set it higher, or make larger parts",
				t.MaxSerial, last, cut.Jobs)})
		}
	}
	return problems
}
