package handlers

import (
	"strings"

	"jjm"
	"jjm/sandbox"
	"jjm/stream"
)

// Streams returns the placeholders that a job file adds to those of its type: its
// streams, and the sequence number if it asks for one. They are for ParseCommand.
func Streams(spec *jjm.Spec) []string {
	all := stream.Placeholders(spec)
	if stream.HasSequence(spec) {
		all = append(all, "{sequence}")
	}
	return all
}

// CommandOf returns the command of a local job with what its job file says of streams:
// their placeholders stand for something, and the outputs that have names by templates
// are collected.
func CommandOf(h Handler, spec *jjm.Spec, l *jjm.LocalJob) (Command, error) {
	job := *l
	job.Part.Streams = stream.Of(spec, l)
	cmd, err := h.Command(spec, &job)
	if err != nil {
		return cmd, err
	}
	for _, o := range stream.Names(spec, l) {
		if name, ok := strings.CutPrefix(o.From, sandbox.WorkName+"/"); ok {
			cmd.Outputs = append(cmd.Outputs[:len(cmd.Outputs):len(cmd.Outputs)], name)
		}
	}
	return cmd, nil
}

// CommandForeseen is CommandOf for a part that is only looked at: its output names are
// those that it would have as number place of its step, from 0 on.
func CommandForeseen(h Handler, spec *jjm.Spec, part *jjm.Part, place int) (Command, error) {
	l := jjm.LocalJob{ID: jjm.LocalID{N: int32(place)}, Part: *part}
	l.Part.Serials = stream.Foreseen(spec, jjm.StepWork, place)
	return CommandOf(h, spec, &l)
}
