package stream

import (
	"fmt"
	"path"
	"strings"

	"jjm/internal/jjm"
)

// LogName is the name of the file beside the job's directory that becomes the output of a log template. The wrapper
// packs standard output, standard error and the GBS log file into this file.
const LogName = "log.tgz"

// work is the job's directory, relative to the folder of an attempt.
const work = "work/"

// Output is a file that each local job of a step makes and whose name comes from a template.
type Output struct {
	jjm.OutputTemplate
	// Field is the template's field in the job file, such as "output_templates[0]".
	Field string
	name  Template
}

// From returns the path of the file relative to the folder of an attempt. name is the file's final name; the
// application writes a file of this name if the template has no source.
func (o *Output) From(name string) string {
	switch {
	case o.Log:
		return LogName
	case o.Source != "":
		return work + path.Clean(o.Source)
	}
	return work + name
}

// Outputs returns the outputs of a step that have a template, in the order of the serial numbers in a part. The merge
// step has one such output, the merged file, if its name is a template. A template that Parse refuses is skipped.
func Outputs(spec *jjm.Spec, step int32) []Output {
	var all []Output
	add := func(field string, t jjm.OutputTemplate) {
		if name, err := Parse(t.Name); err == nil {
			all = append(all, Output{OutputTemplate: t, Field: field, name: name})
		}
	}
	if step == jjm.StepMerge {
		if spec.Merge != nil && IsTemplate(spec.Merge.Output) {
			add(mergeField, jjm.OutputTemplate{Name: spec.Merge.Output})
		}
		return all
	}
	for i, t := range spec.OutputTemplates {
		add(field(i), t)
	}
	return all
}

// mergeField is the field of the job file with the name of the merged file.
const mergeField = "merge.output"

func field(i int) string { return fmt.Sprintf("output_templates[%d]", i) }

// IsTemplate reports whether the name of a file is a template, which means that it contains "$".
func IsTemplate(name string) bool { return strings.Contains(name, "$") }

// Named is a named output of one local job.
type Named struct {
	// Name is the output's final name. From is its path relative to the attempt's folder.
	Name, From string
	Stream     string
	// Log, Required and Optional are copied from the template.
	Log, Required, Optional bool
}

// Names returns the outputs of a local job that have a template, with the serial numbers of its part. It returns nil if
// the part has no serial numbers yet.
func Names(spec *jjm.Spec, l *jjm.LocalJob) []Named {
	if len(l.Part.Serials) == 0 {
		return nil
	}
	outputs := Outputs(spec, l.Step)
	all := make([]Named, 0, len(outputs))
	for i := range outputs {
		if i == len(l.Part.Serials) {
			break
		}
		o := &outputs[i]
		name := o.name.Name(l.Part.Serials[i])
		all = append(all, Named{Name: name, From: o.From(name), Stream: o.Stream, Log: o.Log, Required: o.Required,
			Optional: o.Optional})
	}
	return all
}

// Made returns the template of a step that makes a name, and the serial number in the name. ok is false if no template
// makes the name.
func Made(spec *jjm.Spec, step int32, name string) (template int, serial int64, ok bool) {
	for i, o := range Outputs(spec, step) {
		if n, ok := o.name.Serial(name); ok {
			return i, n, true
		}
	}
	return 0, 0, false
}

// First returns the serial number of the first local job of a step.
func First(spec *jjm.Spec) int64 { return max(spec.FirstSerial, 1) }

// Foreseen returns the serial numbers that a local job will have if all earlier serial numbers go to the local jobs
// before it in its step. place is its position in the step, counted from 0. Previews show these numbers.
func Foreseen(spec *jjm.Spec, step int32, place int) []int64 {
	var all []int64
	for range Outputs(spec, step) {
		all = append(all, First(spec)+int64(place))
	}
	return all
}

// Of returns the values of a local job's streams, by name of the stream: the files of an input dataset, the number of a
// sequence, or the name of an output. It returns nil if the local job has no streams.
func Of(spec *jjm.Spec, l *jjm.LocalJob) map[string][]string {
	all := map[string][]string{}
	for i := range spec.Datasets {
		if d := &spec.Datasets[i]; d.Stream != "" && l.Step == jjm.StepWork {
			all[d.Stream] = filesOf(d, l.Part.Input)
		}
	}
	for _, o := range Names(spec, l) {
		if o.Stream != "" {
			all[o.Stream] = []string{o.Name}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// filesOf returns the files of a dataset that a part has, or the part's number if the dataset is the sequence of
// numbers.
func filesOf(d *jjm.DatasetInput, in *jjm.PartInput) []string {
	switch {
	case in == nil:
		return nil
	case !d.Secondary:
		return in.Files
	case in.More == nil:
		return nil
	case d.Name == jjm.SequenceDataset:
		return []string{fmt.Sprint(in.More.Sequence)}
	}
	for _, s := range in.More.Secondary {
		if s.Dataset == d.Name {
			return s.Files
		}
	}
	return nil
}

// HasSequence reports whether a job file uses sequence numbers.
func HasSequence(spec *jjm.Spec) bool {
	for i := range spec.Datasets {
		if IsSequence(&spec.Datasets[i]) {
			return true
		}
	}
	return false
}

// IsSequence reports whether a dataset of a job file is the sequence of numbers.
func IsSequence(d *jjm.DatasetInput) bool { return d.Secondary && d.Name == jjm.SequenceDataset }

// Placeholders returns the placeholders for the streams of a job file in commands, such as "{EVNT}".
func Placeholders(spec *jjm.Spec) []string {
	var all []string
	for i := range spec.Datasets {
		if s := spec.Datasets[i].Stream; s != "" {
			all = append(all, "{"+s+"}")
		}
	}
	for i := range spec.OutputTemplates {
		if s := spec.OutputTemplates[i].Stream; s != "" {
			all = append(all, "{"+s+"}")
		}
	}
	return all
}

// Stem returns the first part of the names of collected files that have no template.
func Stem(spec *jjm.Spec) string {
	name := spec.Name
	if name == "" {
		name = spec.Type
	}
	stem := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
	return stem[:min(len(stem), 64)]
}
