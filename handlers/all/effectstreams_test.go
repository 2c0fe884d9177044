package all_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/handlers/all"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
	"jjm/internal/work/stream"
	"jjm/sandbox"
)

// streamEffect holds the assignments of local jobs, and the final names of their outputs.
type streamEffect struct {
	Assignments []sandbox.Assignment
	Names       [][]stream.Named
	Refused     string
}

// streamsOf processes a job file in the same way as the product, and returns the effect.
func streamsOf(t *testing.T, text string) (e streamEffect) {
	t.Helper()
	doc, problems := jobfile.Parse("job.toml", []byte(text))
	spec := &doc.Spec
	h, err := all.Registry().Get(spec.Type)
	if err != nil {
		t.Fatal(err)
	}
	if problems = append(problems, problems.Unsaid(handlers.Examine(h, spec, handlers.Site{}))...); len(problems) > 0 {
		return streamEffect{Refused: problems.Error()}
	}
	cut, err := handlers.SplitBy(h, spec, handlers.Site{})
	if err != nil {
		t.Fatal(err)
	}
	if h.Describe().Reads {
		cut.Work, _ = handlers.Inline(spec)
	}
	sp, err := split.Get(cut.Splitter)
	if err != nil {
		t.Fatal(err)
	}
	parts, _, _, err := sp.Cut(cut.Work, split.Limits{}, cut.Params, split.Carry{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		l := jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: int32(i)}, Part: parts[i]}
		l.Part.Serials = stream.Foreseen(spec, jjm.StepWork, i)
		c, err := handlers.CommandOf(h, spec, &l)
		if err != nil {
			t.Fatal(err)
		}
		e.Assignments = append(e.Assignments, sandbox.Assignment{Grid: 17, Local: l.ID.N, Argv: c.Argv, Outputs: c.Outputs,
			Required: c.Required})
		e.Names = append(e.Names, stream.Names(spec, &l))
	}
	return e
}

// streamJobs returns, for each key about streams, a pair of job files with and without the key. There are pairs for
// every type whose command has placeholders.
func streamJobs() map[string]variant {
	templates := func(lines ...string) string {
		return "type = \"script\"\n[params]\ncommand = [\"run\", \"{serial}\"]\ncount = 3\n[[output_templates]]\n" +
			strings.Join(lines, "\n") + "\n"
	}
	name, source := "name = \"a.${SN}\"", "source = \"f\""
	reads := func(line string) string {
		return "type = \"reprocess\"\n[params]\ncommand = [\"run\", \"{IN}\"]\n[[datasets]]\nname = \"raw\"\n" + line +
			"\nfiles = [{ lfn = \"/a\" }]\n"
	}
	return map[string]variant{
		"output_templates[].name": {templates("name = \"b.${SN:3}\"", source), templates(name, source)},
		"output_templates[].stream": {strings.Replace(templates(name, "stream = \"A\""), "{serial}", "{A}", 1),
			strings.Replace(templates(name, source), "{serial}", "{A}", 1)},
		"output_templates[].source":     {templates(name, "stream = \"A\"", source), templates(name, "stream = \"A\"")},
		"output_templates[].max_serial": {templates(name, source, "max_serial = 2"), templates(name, source)},
		"output_templates[].log":        {templates(name, "stream = \"A\"", "log = true"), templates(name, "stream = \"A\"")},
		"output_templates[].required":   {templates(name, source, "required = true"), templates(name, source)},
		"output_templates[].optional":   {templates(name, source, "optional = true"), templates(name, source)},
		"datasets[].stream":             {reads("stream = \"IN\""), reads("")},
	}
}

// Every key about streams changes the assignments of local jobs or the final names of their outputs, or makes jjm
// refuse the job.
func TestStreams_EveryKeyHasAnEffect(t *testing.T) {
	jobs := streamJobs()
	for key, v := range jobs {
		with, without := streamsOf(t, v.with), streamsOf(t, v.without)
		if reflect.DeepEqual(with, without) {
			t.Errorf("%s changes nothing", key)
		}
		if with.Refused != "" && key != "output_templates[].max_serial" {
			t.Errorf("%s: %s", key, with.Refused)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[jjm.OutputTemplate]()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if _, tried := jobs["output_templates[]."+key]; !tried {
			t.Errorf("nothing shows what output_templates[].%s changes", key)
		}
	}
}

// Every type whose command has placeholders also accepts the placeholders of streams. So its command lines can contain
// sequence numbers and names of outputs.
func TestStreams_ReachTheCommandsOfAllTypes(t *testing.T) {
	for typ, params := range map[string]string{
		"script":     "command = [\"run\", \"{args}\", \"--out=${OUT}\"]\nargs = [[\"a\"], [\"b\"]]",
		"montecarlo": "command = [\"run\", \"{first_event}\", \"--out=${OUT}\"]\nevents = 20\nevents_per_job = 10",
		"cdfmc":      "command = [\"run\", \"{section}\", \"--out=${OUT}\"]\nsections = 2\nevents_per_section = 10",
		"reprocess":  "command = [\"run\", \"{files}\", \"--out=${OUT}\"]",
	} {
		text := "type = \"" + typ + "\"\n[[output_templates]]\nname = \"x.${SN}\"\nstream = \"OUT\"\n"
		if typ == "reprocess" {
			text += "[[datasets]]\nname = \"raw\"\nfiles = [{ lfn = \"/a\" }, { lfn = \"/b\" }]\n"
		}
		e := streamsOf(t, text+"[params]\n"+params+"\n")
		if e.Refused != "" || len(e.Assignments) != 2 {
			t.Errorf("%s: %d local jobs: %s", typ, len(e.Assignments), e.Refused)
			continue
		}
		for i, a := range e.Assignments {
			want := "x." + []string{"000001", "000002"}[i]
			if len(a.Argv) != 3 || a.Argv[2] != "--out="+want || !slices.Equal(a.Outputs, []string{want}) {
				t.Errorf("%s: %q collects %v, want %s", typ, a.Argv, a.Outputs, want)
			}
		}
	}
}

// JEDI's placeholder FIRSTEVENT is the number that the part's first event has in its file, even if the part begins in
// the middle of the file.
func TestStreams_FirstEventIsANumber(t *testing.T) {
	e := streamsOf(t, `type = "reprocess"
[[datasets]]
name = "raw"
files = [{ lfn = "/a", events = 10, first_event = 1001 }, { lfn = "/b", events = 5 }]
[split]
by = "JEDI"
params = { records = { real_events = true, events_per_job = 5 } }
[params]
command = ["run", "${FIRSTEVENT}", "${SKIPEVENTS}", "${MAXEVENTS}", "{files}"]
`)
	var got []string
	for _, a := range e.Assignments {
		got = append(got, strings.Join(a.Argv, " "))
	}
	want := []string{"run 1001 0 5 /a", "run 1006 5 5 /a", "run 0 0 5 /b"}
	if e.Refused != "" || !slices.Equal(got, want) {
		t.Errorf("%q, want %q; %s", got, want, e.Refused)
	}
}
