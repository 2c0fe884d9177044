package handlers

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/internal/work/stream"
)

func eventJob() *jjm.LocalJob {
	return &jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: 3},
		Part: jjm.Part{Unit: jjm.UnitEvent, First: 301, Count: 100, Serial: 4}}
}

func rowJob() *jjm.LocalJob {
	return &jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: 2},
		Part: jjm.Part{Unit: jjm.UnitRow, First: 2, Count: 1, Serial: 3, Args: []string{"red", "", "two words {job}"}}}
}

func TestCommand_Expands(t *testing.T) {
	tests := map[string]struct {
		words string // the words of the command, separated by |
		job   *jjm.LocalJob
		want  string
	}{
		"no placeholder, events": {"run|-v", eventJob(), "run|-v|301|100"},
		"no placeholder, row":    {"run", rowJob(), "run|red||two words {job}"},
		"all of events": {"run|{first_event}|{events}|{last_event}|{serial}|{seed}|{job}", eventJob(),
			"run|301|100|400|4|1004|17.3"},
		"inside a word":          {"run|--range={first_event}-{last_event}.txt", eventJob(), "run|--range=301-400.txt"},
		"args alone":             {"run|{args}|end", rowJob(), "run|red||two words {job}|end"},
		"row number":             {"run|{row}", rowJob(), "run|2"},
		"program is placeholder": {"{args}", rowJob(), "red||two words {job}"},
		"braces":                 {"awk|{{print $1}|{{{serial}}", eventJob(), "awk|{print $1}|{4}"},
		"braces of a script":     {"sh|-c|{ echo {seed}; } >&2", eventJob(), "sh|-c|{ echo 1004; } >&2"},
		"variables of a script":  {"sh|cd ${HOME}; x ${1} ${A:-{job}}", eventJob(), "sh|cd ${HOME}; x ${1} ${A:-17.3}"},
		"as awk has them":        {`awk|{s+=$1} END {print s}|{serial}`, eventJob(), "awk|{s+=$1} END {print s}|4"},
		"no words in braces":     {"find|{}|{1..3}|{'a': 1}|{|{job}", eventJob(), "find|{}|{1..3}|{'a': 1}|{|17.3"},
		"only braces":            {"awk|{{print}", rowJob(), "awk|{print}|red||two words {job}"},
		"empty word":             {"run||{job}", eventJob(), "run||17.3"},
		"closing brace":          {"run|}|{job}", eventJob(), "run|}|17.3"},
		"unicode":                {"run|é{seed}値", eventJob(), "run|é1004値"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tmpl, problems := ParseCommand("params.command", strings.Split(test.words, "|"), test.job.Part.Unit)
			if problems != nil {
				t.Fatal(problems)
			}
			got := tmpl.Expand(PartValues(test.job, 1000))
			if diff := cmp.Diff(strings.Split(test.want, "|"), got); diff != "" {
				t.Errorf("argv (-want +got):\n%s", diff)
			}
		})
	}
}

// A word that is only the placeholder of a stream becomes one word for each file of the stream. Inside a longer word,
// the files are joined by commas. JEDI's own placeholders mean the same as the corresponding placeholders of jjm.
func TestCommand_ExpandsStreams(t *testing.T) {
	spec := &jjm.Spec{Datasets: []jjm.DatasetInput{{Name: "raw", Stream: "IN"},
		{Name: "mb", Secondary: true, Stream: "MB"}, {Name: "none", Secondary: true, Stream: "NONE"},
		{Name: "seq_number", Secondary: true, Stream: "SEQ"}},
		OutputTemplates: []jjm.OutputTemplate{{Name: "a.${SN}", Stream: "OUT"}}}
	job := &jjm.LocalJob{Part: jjm.Part{Unit: jjm.UnitFile, Serial: 3, Serials: []int64{9}, Input: &jjm.PartInput{
		Files: []string{"f1", "f 2"}, Mask: jjm.Mask{Events: jjm.Span{First: 5, Count: 7}},
		More: &jjm.PartMore{Seed: 44, Sequence: 6, FirstNumber: 1006,
			Secondary: []jjm.StreamFiles{{Dataset: "mb", Files: []string{"p1", "p2"}}}}}}}
	job.Part.Streams = stream.Of(spec, job)
	for words, want := range map[string]string{
		"run|{IN}": "run|f1|f 2", "run|${IN}|x": "run|f1|f 2|x",
		"run|--in=${IN}": "run|--in=f1,f 2", "{MB}{MB}": "p1,p2p1,p2",
		"run|{NONE}|x{NONE}y": "run|xy", "run|$${OUT}": "run|$a.000009", "run|{OUT}{{": "run|a.000009{",
		"run|${RNDMSEED}-{seed}": "run|44-44", "run|${SEQNUMBER},{SEQ},{sequence}": "run|6,6,6",
		"run|${SKIPEVENTS}|${MAXEVENTS}|${FIRSTEVENT}": "run|5|7|1006", "run|${seed}": "run|$44",
	} {
		tmpl, problems := ParseCommand("command", strings.Split(words, "|"), jjm.UnitFile, Streams(spec)...)
		got := strings.Join(tmpl.Expand(PartValues(job, 0)), "|")
		if problems != nil || got != want {
			t.Errorf("%s: %s, want %s; %v", words, got, want, problems)
		}
	}
	for word, known := range map[string]string{"{OTHER}": "{IN} {MB} {NONE} {SEQ} {OUT} {sequence}",
		"${LASTEVENT}": "{IN}"} {
		_, problems := ParseCommand("command", []string{"run", word}, jjm.UnitFile, Streams(spec)...)
		if len(problems) != 1 || !strings.Contains(problems[0].Text, known) {
			t.Errorf("%s: %v", word, problems)
		}
	}
	made := eventJob() // a part without files may also have a sequence number
	made.Part.Input = &jjm.PartInput{More: &jjm.PartMore{Sequence: 8}}
	tmpl, problems := ParseCommand("command", []string{"run", "${SEQNUMBER}"}, jjm.UnitEvent, Streams(spec)...)
	if got := tmpl.Expand(PartValues(made, 0)); problems != nil || !slices.Equal(got, []string{"run", "8"}) {
		t.Errorf("events that are made: %q, %v", got, problems)
	}
	_, problems = ParseCommand("command", []string{"run", "${SEQNUMBER}"}, jjm.UnitFile)
	if len(problems) != 1 || !strings.Contains(problems[0].Text, `unknown placeholder "{SEQNUMBER}"`) {
		t.Errorf("without a sequence: %v", problems)
	}
}

func TestCommand_RefusesWhatItDoesNotKnow(t *testing.T) {
	tests := map[string]struct{ word, unit, want string }{
		"unknown": {"{evts}", jjm.UnitEvent,
			`command[1]: unknown placeholder "{evts}": did you mean {events}? known are {serial} {seed} {job} {first_event} {events} {last_event} (an opening brace is written {{, a closing one is never doubled)`},
		"row of events":   {"{row}", jjm.UnitEvent, `command[1]: unknown placeholder "{row}": known are`},
		"events of row":   {"{events}", jjm.UnitRow, `known are {serial} {seed} {job} {row} {args} (an opening brace`},
		"never closed":    {"x{job", jjm.UnitRow, `unknown placeholder "{job": did you mean {job}? known`},
		"near a variable": {"${SEED}", jjm.UnitRow, `unknown placeholder "{SEED}": did you mean {seed}? known`},
		"blank":           {"{ job }", jjm.UnitRow, `unknown placeholder "{ job }": did you mean {job}? known`},
		"hyphens": {"{first-event}", jjm.UnitEvent,
			`unknown placeholder "{first-event}": did you mean {first_event}? known`},
		"args in a word":  {"x{args}", jjm.UnitRow, `"x{args}": {args} must be a word of its own`},
		"args and closer": {"{args}}", jjm.UnitRow, `must be a word of its own`},
		"very long":       {"{" + strings.Repeat("x", 5000) + "}", jjm.UnitRow, `unknown placeholder "{xxxxxxxxxxxx`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := ParseCommand("command", []string{"run", test.word}, test.unit)
			if len(problems) != 1 || !strings.Contains(problems[0].String(), test.want) || len(problems[0].Text) > 400 {
				t.Errorf("problems are %v, want %s", problems, test.want)
			}
		})
	}
	if _, problems := ParseCommand("command", []string{""}, jjm.UnitRow); !strings.Contains(problems.Error(),
		"names the program") {
		t.Errorf("an empty program: %v", problems)
	}
}

// Each wrong placeholder of a word is told, once.
func TestCommand_TellsEachWrongPlaceholderOfAWord(t *testing.T) {
	_, problems := ParseCommand("command", []string{"sh", "{file} {job} {serail} {file} x{args}"}, jjm.UnitRow)
	var got []string
	for _, p := range problems {
		text, _, _ := strings.Cut(p.String(), " known are")
		got = append(got, text)
	}
	want := []string{`command[1]: unknown placeholder "{file}":`,
		`command[1]: unknown placeholder "{serail}": did you mean {serial}?`,
		`command[1]: "{file} {job} {serail} {file} x{args}": ` +
			`{args} must be a word of its own, because it becomes several words`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A variable of the shell is a mistake only if it is nearly a placeholder. The braces do not count for that.
func TestCommand_LeavesVariablesOfTheShell(t *testing.T) {
	for _, word := range []string{"${ROOT}", "${ROOTSYS}", "${first}", "${HOME}", "${DB}", "${rows[@]}"} {
		for _, unit := range []string{jjm.UnitRow, jjm.UnitEvent} {
			if _, problems := ParseCommand("command", []string{"sh", word}, unit); problems != nil {
				t.Errorf("%s: %v", word, problems)
			}
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, word := range []string{"", "{args}", "{{{serial}}}", "{", "a{job}b{seed}", "{args}{args}"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, job := range []*jjm.LocalJob{eventJob(), rowJob()} {
			tmpl, problems := ParseCommand("command", []string{"run", word}, job.Part.Unit)
			argv := tmpl.Expand(PartValues(job, 0)) // must not panic even with problems
			if len(problems) == 0 && !strings.Contains(word, "{") && (len(argv) < 2 || argv[1] != word) {
				t.Errorf("%q became %q", word, argv)
			}
		}
	})
}

func TestCommand_ParentsBecomeSeveralWords(t *testing.T) {
	c, problems := ParseCommand("command", []string{"reco", "{file}", "--also", "{parents}"}, jjm.UnitFile)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, parents := range [][]string{nil, {"p"}, {"p", "q r"}} {
		in := &jjm.PartInput{Files: []string{"a"}}
		if parents != nil {
			in.More = &jjm.PartMore{Parents: parents}
		}
		got := c.Expand(PartValues(&jjm.LocalJob{Part: jjm.Part{Unit: jjm.UnitFile, Count: 1, Input: in}}, 0))
		if diff := cmp.Diff(append([]string{"reco", "a", "--also"}, parents...), got); diff != "" {
			t.Error(diff)
		}
	}
	if _, problems := ParseCommand("command", []string{"x", "in={parents}"}, jjm.UnitFile); len(problems) != 1 {
		t.Error(problems)
	}
}

func TestReadRows_SplitsLinesIntoWords(t *testing.T) {
	text := "a b\tc\n\n  # a comment\n\"two words\" \"\" x\"y z\"w\r\n\"quote \\\" and \\\\\"\nlast"
	got, err := siteWith(text).ReadRows("rows.txt", 100)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"a", "b", "c"}, {"two words", "", "xy zw"}, {`quote " and \`}, {"last"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestReadRows_StopsAfterOneRowTooMany(t *testing.T) {
	got, err := siteWith(strings.Repeat("x\n", 1000)).ReadRows("rows.txt", 10)
	if err != nil || len(got) != 11 {
		t.Errorf("%d rows, error %v", len(got), err)
	}
}

func TestReadRows_RefusesOtherFiles(t *testing.T) {
	tests := map[string]struct {
		site Site
		want string
	}{
		"absent":     {siteWith(""), `open "no.txt": `},
		"nul":        {siteWith("a\nb\x00c"), "no.txt:2: not text"},
		"not utf-8":  {siteWith("caf\xe9"), "no.txt:1: not text"},
		"open quote": {siteWith("a\nb \"c\n"), "no.txt:2: a double quote is never closed"},
		"long line":  {siteWith(strings.Repeat("x", MaxRow+1)), "a line is longer than 65536 bytes"},
		"huge file": {siteWith(strings.Repeat(strings.Repeat("#", 60_000)+"\n", 1200)),
			"is too large: at most 67108864 bytes"},
		"no access":  {Site{}, "cannot be read here"},
		"read error": {Site{Open: openFailing}, "disk on fire"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := "no.txt"
			if name == "absent" {
				test.site.Open = openNothing
			}
			_, err := test.site.ReadRows(path, 10)
			if err == nil || !strings.Contains(err.Error(), test.want) || jjm.KindOf(err) != jjm.Invalid {
				t.Errorf("error is %v, want %s", err, test.want)
			}
		})
	}
}

func FuzzSplitRow(f *testing.F) {
	for _, line := range []string{"", "a b", `"a b" c`, `"`, `"\"`, "# x", "\x00", "a\\ b"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		row, err := splitRow(line)
		if err != nil {
			return
		}
		var quoted []string
		for _, word := range row {
			quoted = append(quoted, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word)+`"`)
		}
		again, err := splitRow([]byte(strings.Join(quoted, " ")))
		if err != nil || !slices.Equal(row, again) {
			t.Errorf("%q gave %q, which reads back as %q (%v)", line, row, again, err)
		}
	})
}
