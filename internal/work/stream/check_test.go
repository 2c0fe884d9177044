package stream

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestCheck_AcceptsValidJobFiles(t *testing.T) {
	t.Parallel()
	spec := &jjm.Spec{Type: "reprocess", Name: "EVNT",
		Datasets: []jjm.DatasetInput{{Name: "raw", Stream: "IN"}, {Name: "mb", Secondary: true, Stream: "LOW_PT"},
			{Name: jjm.SequenceDataset, Secondary: true, Stream: "SEQNUMBER"}},
		OutputTemplates: []jjm.OutputTemplate{
			{Name: "EVNT.01206750._${SN}.pool.root", Stream: "EVNT", Source: "event.pool.root"},
			{Name: "hist.${SN:4}.root", Source: "sub/hist.root", MaxSerial: 9999}, {Name: "log.${SN}.tgz", Log: true},
			{Name: "${SN/P}.ntuple", Stream: "N2"}},
		Merge: &jjm.Merge{Output: "merged.${SN}"}}
	if problems := Check(spec); problems != nil {
		t.Error(problems)
	}
}

func TestCheck_NamesTheFieldAndTheRemedy(t *testing.T) {
	t.Parallel()
	one := func(ts ...jjm.OutputTemplate) *jjm.Spec { return &jjm.Spec{Type: "mc", OutputTemplates: ts} }
	for want, spec := range map[string]*jjm.Spec{
		"output_templates[0].name: is missing": one(jjm.OutputTemplate{Stream: "A"}),
		"output_templates[0].name: \"a/${SN}\": a path separator": one(
			jjm.OutputTemplate{Name: "a/${SN}", Stream: "A"}),
		"output_templates[0].name: \"${X}\": unknown \"${X}\": known are": one(
			jjm.OutputTemplate{Name: "${X}", Stream: "A"}),
		"output_templates[0].name: \"out.root\": all local jobs would make a file of this name: put ${SN}": one(
			jjm.OutputTemplate{Name: "out.root", Stream: "A"}),
		"output_templates[1].name: \"b${SN:3}\" may name the same file as \"b${SN}\" (output_templates[0])": one(
			jjm.OutputTemplate{Name: "b${SN}", Stream: "A"}, jjm.OutputTemplate{Name: "b${SN:3}", Stream: "B"}),
		"output_templates[0].name: \"mc.17.${SN}.a\": the other collected files have names such as mc.17.3.stdout": one(
			jjm.OutputTemplate{Name: "mc.17.${SN}.a", Stream: "A"}),
		"output_templates[0]: the application would not know the name": one(jjm.OutputTemplate{Name: "a${SN}"}),
		"output_templates[0].stream: \"evnt\": want 1 to 20 of A-Z": one(
			jjm.OutputTemplate{Name: "a${SN}", Stream: "evnt"}),
		"output_templates[0].stream: \"AAAAAAAAAAAAAAAAAAAAA\": want": one(
			jjm.OutputTemplate{Name: "a${SN}", Stream: strings.Repeat("A", 21)}),
		"output_templates[0].stream: RNDMSEED has another meaning": one(
			jjm.OutputTemplate{Name: "a${SN}", Stream: "RNDMSEED"}),
		"output_templates[1].stream: A is already the stream of output_templates[0]": one(
			jjm.OutputTemplate{Name: "a${SN}", Stream: "A"},
			jjm.OutputTemplate{Name: "b${SN}", Stream: "A"}),
		"output_templates[1].source: \"./f\" is already the source of output_templates[0]": one(
			jjm.OutputTemplate{Name: "a${SN}", Source: "f"},
			jjm.OutputTemplate{Name: "b${SN}", Source: "./f"}),
		"output_templates[0].source: \"../f\": want a file below": one(
			jjm.OutputTemplate{Name: "a${SN}", Source: "../f"}),
		"output_templates[0].source: \"/f\": want a file below": one(
			jjm.OutputTemplate{Name: "a${SN}", Source: "/f"}),
		"output_templates[0].source: \"*.root\": want the name of one file": one(
			jjm.OutputTemplate{Name: "a${SN}", Source: "*.root"}),
		"output_templates[0].max_serial: -1 is out of range": one(
			jjm.OutputTemplate{Name: "a${SN}", Source: "f", MaxSerial: -1}),
		"output_templates[0].source: means nothing with log": one(
			jjm.OutputTemplate{Name: "a${SN}", Source: "f", Log: true}),
		"output_templates[0].required: means nothing with log: jjm makes the log": one(
			jjm.OutputTemplate{Name: "a${SN}", Log: true, Required: true}),
		"output_templates[1].log: output_templates[0] is already the log": one(
			jjm.OutputTemplate{Name: "a${SN}", Log: true}, jjm.OutputTemplate{Name: "b${SN}", Log: true}),
		"merge.output: \"m${X}\": unknown": {Type: "mc", Merge: &jjm.Merge{Output: "m${X}"}},
		"merge.output: \"m${SN}\" may name the same file as": {Type: "mc",
			Merge: &jjm.Merge{Output: "m${SN}"}, OutputTemplates: []jjm.OutputTemplate{{Name: "m${SN}", Stream: "A"}}},
		"datasets[0].stream: \"in\": want": {Datasets: []jjm.DatasetInput{{Name: "raw", Stream: "in"}}},
		"datasets[1].stream: IN is already the stream of datasets[0]": {Datasets: []jjm.DatasetInput{
			{Name: "raw", Stream: "IN"}, {Name: "b", Stream: "IN"}}},
		"datasets[0].stream: SEQNUMBER has another meaning": {Datasets: []jjm.DatasetInput{{Name: "raw", Stream: "SEQNUMBER"}}},
		"datasets[0].from: seq_number is one number for each local job and has no files": {Datasets: []jjm.DatasetInput{
			{Name: jjm.SequenceDataset, Secondary: true, From: "list"}}},
	} {
		problems := Check(spec)
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Field+": "+problems[0].Text, want) {
			t.Errorf("%v\nwant %s", problems, want)
		}
	}
}

// Of returns the values of each stream: the files of an input, the number of a sequence, or the name of an output.
func TestOf_ReturnsTheValuesOfEachStream(t *testing.T) {
	t.Parallel()
	spec := &jjm.Spec{FirstSerial: 11,
		Datasets: []jjm.DatasetInput{{Name: "raw", Stream: "IN"}, {Name: "mb", Secondary: true, Stream: "MB"},
			{Name: "none", Secondary: true, Stream: "NONE"}, {Name: jjm.SequenceDataset, Secondary: true, Stream: "SEQ"}},
		OutputTemplates: []jjm.OutputTemplate{
			{Name: "a.${SN:2}", Stream: "A", Source: "x/./y"}, {Name: "b.${SN}", Stream: "B"},
			{Name: "l.${SN}", Log: true}},
		Merge: &jjm.Merge{Output: "m.${SN:3}"}}
	in := &jjm.PartInput{Files: []string{"f1", "f2"}, More: &jjm.PartMore{Sequence: 7,
		Secondary: []jjm.StreamFiles{{Dataset: "mb", Files: []string{"p1"}}}}}
	l := &jjm.LocalJob{Part: jjm.Part{Input: in, Serials: Foreseen(spec, jjm.StepWork, 2)}}
	want := map[string][]string{"IN": {"f1", "f2"},
		"MB": {"p1"}, "NONE": nil, "SEQ": {"7"}, "A": {"a.13"}, "B": {"b.000013"}}
	if diff := cmp.Diff(want, Of(spec, l)); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
	names := []Named{{Name: "a.13", From: "work/x/y", Stream: "A"}, {Name: "b.000013", From: "work/b.000013", Stream: "B"},
		{Name: "l.000013", From: "log.tgz", Log: true}}
	if diff := cmp.Diff(names, Names(spec, l)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	merge := &jjm.LocalJob{Step: jjm.StepMerge, Part: jjm.Part{Input: in, Serials: []int64{4}}}
	if diff := cmp.Diff([]Named{{Name: "m.004", From: "work/m.004"}}, Names(spec, merge)); diff != "" {
		t.Errorf("names of a merge (-want +got):\n%s", diff)
	}
	if Of(spec, merge) != nil || Of(&jjm.Spec{}, l) != nil {
		t.Error("streams where there are none")
	}
	if i, n, ok := Made(spec, jjm.StepWork, "b.000013"); i != 1 || n != 13 || !ok {
		t.Errorf("b.000013 is number %d of %d, %v", n, i, ok)
	}
	if diff := cmp.Diff([]string{"{IN}", "{MB}", "{NONE}", "{SEQ}", "{A}", "{B}"}, Placeholders(spec)); diff != "" {
		t.Error(diff)
	}
}
