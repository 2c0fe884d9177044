package stream

import (
	"fmt"
	"path"
	"strings"

	"jjm"
)

// LogName is the file beside the job's directory into which the wrapper puts what a log
// template names: standard output, standard error and the GBS log file.
const LogName = "log.tgz"

// work is the job's directory within the folder of an attempt.
const work = "work/"

// Output is what each local job of a step makes under a name of its own.
type Output struct {
	jjm.OutputTemplate
	// Field is where the job file names it.
	Field string
	name  Template
}

// From is where the file is found below the folder of an attempt, by its final name.
func (o *Output) From(name string) string {
	switch {
	case o.Log:
		return LogName
	case o.Source != "":
		return work + path.Clean(o.Source)
	}
	return work + name
}

// Outputs returns the outputs of a step that have names by templates, in the order of
// their numbers: of the merge step, the merged file, if its name is a template.
// Templates of a job file that was checked have no mistakes.
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

// mergeField is the key of the name of a merged file.
const mergeField = "merge.output"

func field(i int) string { return fmt.Sprintf("output_templates[%d]", i) }

// IsTemplate reports whether the name of a file means a template.
func IsTemplate(name string) bool { return strings.Contains(name, "$") }

// Named is an output of one local job.
type Named struct {
	// Name is its name for good, From where it is found below the attempt's folder.
	Name, From string
	Stream     string
	Log        bool
}

// Names returns the outputs of a local job that have names by templates: its part has
// the numbers.
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
		all = append(all, Named{Name: name, From: o.From(name), Stream: o.Stream, Log: o.Log})
	}
	return all
}

// Made returns the number in the name of an output of a step, and which of the step's
// templates names it; ok is false for a name that none makes.
func Made(spec *jjm.Spec, step int32, name string) (template int, serial int64, ok bool) {
	for i, o := range Outputs(spec, step) {
		if n, ok := o.name.Serial(name); ok {
			return i, n, true
		}
	}
	return 0, 0, false
}

// First is the number that the first local job of a step gets.
func First(spec *jjm.Spec) int64 { return max(spec.FirstSerial, 1) }

// Foreseen returns the numbers of the local job at a place in its step, from 0 on, if
// nothing else is made meanwhile: for people who ask before anything is.
func Foreseen(spec *jjm.Spec, step int32, place int) []int64 {
	var all []int64
	for range Outputs(spec, step) {
		all = append(all, First(spec)+int64(place))
	}
	return all
}

// Of returns what stands for the streams of a local job, by their names: the files of an
// input that it reads, the number of a sequence, the name of an output.
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

// filesOf returns what a part reads of a dataset.
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

// HasSequence reports whether a job file asks for sequence numbers.
func HasSequence(spec *jjm.Spec) bool {
	for i := range spec.Datasets {
		if IsSequence(&spec.Datasets[i]) {
			return true
		}
	}
	return false
}

// IsSequence reports whether a dataset of a job file stands for sequence numbers.
func IsSequence(d *jjm.DatasetInput) bool { return d.Secondary && d.Name == jjm.SequenceDataset }

// Placeholders returns the names of the streams of a job file as commands write them,
// "{EVNT}", in order.
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

// Stem is the first part of the names of all collected files that no template names.
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
