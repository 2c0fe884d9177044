package declared

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/testkit/handlertest"
)

// parsed parses a type whose text must be valid.
func parsed(t *testing.T, text string) handlers.Handler {
	t.Helper()
	h, problems := Parse("type.toml", "/site", []byte(text), nil)
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, text)
	}
	return h
}

const head = "name = \"toy\"\nsummary = \"a toy\"\ncommand = [\"run\", \"{x}\", \"{words}\"]\nenv = { A = \"<{x}> {serial}\" }\n"

const settings = `[[settings]]
name = "x"
type = "number"
default = 1.5
min = 0
max = 9
help = "an x"
[[settings]]
name = "words"
type = "list of words"
required = true
help = "words"
[[settings]]
name = "n"
type = "whole number"
default = 3
min = 1
max = 1000
help = "how many"
`

// A declared type passes the conformance suite of all job types, whatever table [work] says about its local jobs.
func TestConformance(t *testing.T) {
	for name, c := range map[string]struct {
		work string
		good handlertest.Good
	}{
		"events": {"[work]\nevents = 10\nevents_per_job = \"n\"\nfirst_event = 5\nseed_offset = \"n\"\n",
			handlertest.Good{Parts: 4, Units: 10}},
		"count": {"[work]\ncount = \"n\"\n", handlertest.Good{Parts: 3, Units: 3}},
		"rows":  {"[work]\nrows = \"words\"\n", handlertest.Good{Parts: 2, Units: 2}},
		"files": {"[work]\nfiles = \"FileBased\"\nparams = { files_per_job = 1 }\n", handlertest.Good{Parts: 2}},
	} {
		t.Run(name, func(t *testing.T) { handlertest.Run(t, parsed(t, head+c.work+settings), handlers.Site{}, c.good) })
	}
}

// The files that Begin writes for a new job type are valid. Begin overwrites no existing file.
func TestBegin_MakesATypeThatIsRight(t *testing.T) {
	dir := t.TempDir()
	begun, err := Begin(dir, "zmumu", KindTOML)
	if err != nil || len(begun.All) != 3 || !slices.Contains(begun.All, begun.Type) ||
		!slices.Contains(begun.All, begun.Job) {
		t.Fatal(begun, err)
	}
	loaded, err := Folder{Dir: dir}.Load()
	if off := loaded.Types.AllOff(loaded.Off...); err != nil || len(off) > 0 || loaded.Types["zmumu"] == nil {
		t.Fatalf("%v, %v, %v", loaded, off, err)
	}
	handlertest.Run(t, loaded.Types["zmumu"], handlers.Site{})
	if _, err := Begin(dir, "zmumu", KindTOML); jjm.KindOf(err) != jjm.Conflict {
		t.Errorf("again: %v", err)
	}
	if err := os.Remove(begun.All[0]); err != nil {
		t.Fatal(err)
	}
	if begun, err := Begin(dir, "zmumu", KindTOML); jjm.KindOf(err) != jjm.Conflict || len(begun.All) != 0 {
		t.Errorf("in part: %v %v", begun, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("%d files are left", len(left))
	}
	if _, err := Begin(dir, "../x", KindTOML); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("a bad name: %v", err)
	}
}

// The type that reads files has its example files, by their paths, whatever the name of the folder.
func TestBegin_MakesATypeThatReadsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a "b" \c`)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	begun, err := Begin(dir, "skim", KindFiles)
	if err != nil || len(begun.All) != 6 {
		t.Fatal(begun, err)
	}
	loaded, err := Folder{Dir: dir}.Load()
	if off := loaded.Types.AllOff(loaded.Off...); err != nil || len(off) > 0 || loaded.Types["skim"] == nil {
		t.Fatalf("%v, %v, %v", loaded, off, err)
	}
	handlertest.Run(t, loaded.Types["skim"], handlers.Site{})
	text, err := os.ReadFile(begun.Job)
	if err != nil {
		t.Fatal(err)
	}
	doc, problems := jobfile.Parse(begun.Job, text)
	if len(problems) > 0 || len(doc.Spec.Datasets) != 1 || len(doc.Spec.Datasets[0].Files) != 3 {
		t.Fatalf("%v, %+v", problems, doc.Spec)
	}
	for _, f := range doc.Spec.Datasets[0].Files {
		if _, err := os.Stat(f.LFN); err != nil {
			t.Error(err)
		}
	}
}

// The command and its environment receive the settings and the numbers of the part. A placeholder inside the value of a
// setting is not replaced.
func TestCommand_SettingsAndPart(t *testing.T) {
	h := parsed(t, head+"[work]\nevents = 10\nevents_per_job = \"n\"\nseed_offset = \"n\"\n"+settings)
	spec := &jjm.Spec{Type: "toy", Params: map[string]any{"words": []any{"{seed}", "b c", "{"}, "x": int64(2)}}
	job := &jjm.LocalJob{Part: jjm.Part{Unit: jjm.UnitEvent, First: 4, Count: 3, Serial: 2}}
	c, err := h.Command(spec, job)
	if want := []string{"run", "2", "{seed}", "b c", "{", "4", "3"}; err != nil || !slices.Equal(c.Argv, want) {
		t.Errorf("%q %v, want %q", c.Argv, err, want)
	}
	if c.Env["A"] != "<2> 2" {
		t.Errorf("%v", c.Env)
	}
	h = parsed(t, strings.Replace(head, "\"{x}\"", "\"{{{x}-{seed}\"", 1)+
		"[work]\nevents = 10\nevents_per_job = \"n\"\nseed_offset = \"n\"\n"+settings)
	if c, err := h.Command(spec, job); err != nil || c.Argv[1] != "{2-5" {
		t.Errorf("%q %v", c.Argv, err)
	}
}

// Every mistake is reported with its place.
func TestParse_NamesMistakes(t *testing.T) {
	good := head + "[work]\ncount = 2\n" + settings
	for _, c := range []struct{ old, new, want string }{
		{"name = \"toy\"", "name = \"Toy!\"", "name: \"Toy!\""},
		{"summary", "sumary", "did you mean \"summary\""},
		{"\"a toy\"", "\"\"", "summary: is missing"},
		{"summary = ", "result = \"maybe\"\nsummary = ", "want \"exit\" or \"glf\""},
		{"{x}", "{y}", "unknown placeholder \"{y}\""},
		{"\"{words}\"]", "\"{wrods}\"]", "did you mean {words}? known are {serial} {seed} {job} {row} {args} {x} {words} {n}"},
		{"<{x}>", "{args}!", "env.A: \"{args}!"},
		{"count = 2", "count = \"m\"", "work.count: \"m\": want a whole number"},
		{"count = 2", "count = \"x\"", "work.count: \"x\": want a whole number"},
		{"count = 2", "count = -1", "out of range"},
		{"count = 2", "count = 2\nevents = 3\nevents_per_job = 1", "want exactly one of"},
		{"count = 2", "", "want exactly one of"},
		{"count = 2", "events = 3", "goes with events"},
		{"count = 2", "count = 2\nfirst_event = 1", "means nothing without events"},
		{"count = 2", "rows = \"x\"", "a list of words"},
		{"count = 2", "files = \"FileBasd\"", "work.files"},
		{"count = 2", "files = \"events\"", "makes its work itself"},
		{"count = 2", "files = \"FileBased\"\nparams = { file_per_job = 1 }", "work.params.file_per_job"},
		{"count = 2", "files = \"FileBased\"\nparams = { file_per_job = 1 }", "did you mean files_per_job?"},
		{"count = 2", "files = \"FileBased\"\nparams = { files_per_job = \"2\" }", "work.params.files_per_job: "},
		{"count = 2", "files = \"FileBased\"\nparams = { files_per_job = -2 }", "work.params: split by FileBased: "},
		{"count = 2", "files = \"JEDI\"\nparams = { task = { rule = \"NF=2,XX=1\" } }",
			"work.params.task.rule: unknown word \"XX\""},
		{"count = 2", "files = \"JEDI\"\nparams = { task = { ruel = \"NF=2\" } }", "did you mean \"rule\"?"},
		{"count = 2", "files = \"JEDI\"\nparams = { records = { first_event = 2 } }", "work.params.records.first_event: "},
		{"count = 2", "count = 2\nparams = { a = 1 }", "mean nothing without files"},
		{"type = \"number\"", "type = \"real\"", "settings[0].type"},
		{"default = 1.5", "default = 15", "settings[0].default: 15 is out of range"},
		{"default = 1.5", "default = \"one\"", "settings[0].default: want a number"},
		{"default = 1.5", "default = 1.5\nrequired = true", "a required setting has no default"},
		{"default = 1.5", "default = 1.5\nchoices = [\"a\"]", "only a text has choices"},
		{"name = \"x\"", "name = \"X\"", "settings[0].name"},
		{"name = \"n\"", "name = \"x\"", "the name of another setting"},
		{"help = \"an x\"", "", "settings[0].help"},
		{"min = 1\n", "min = 1.5\n", "settings[2].min"},
		{"required = true\nhelp = \"words\"", "required = true\nmin = 1\nhelp = \"words\"", "only numbers have bounds"},
		{"[work]", "progress = \"two words\"\n[work]", "progress: \"two words\": want the name of a phase"},
		{"[work]", "analyse = [\"{y}\"]\n[work]", "analyse[0]: unknown placeholder"},
		{"[work]", "[[ends]]\naction = \"fail\"\ntext = \"x\"\n[work]", "ends[0].exit_codes: is missing"},
		{"[work]", "[[ends]]\nexit_codes = [256]\naction = \"fail\"\ntext = \"x\"\n[work]", "256 is out of range"},
		{"[work]", "[[ends]]\nexit_codes = [1, 1]\naction = \"fail\"\ntext = \"x\"\n[work]", "in ends[0] already"},
		{"[work]", "[[ends]]\nexit_codes = [1]\naction = \"cancel\"\ntext = \"x\"\n[work]",
			"want complete, retry, hold or fail"},
		{"[work]", "[[ends]]\nexit_codes = [1]\naction = \"fail\"\n[work]", "ends[0].text: is missing"},
		{"[work]", "[[ends]]\nexit_codes = [1]\naction = \"fail\"\ntext = \"x\"\nretry_args = [\"a\"]\n[work]",
			"mean nothing unless action is retry"},
		{"summary = ", "example = \"type = 'toy'\"\nsummary = ", "example: is refused by the type itself"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		_, problems := Parse("type.toml", "/site", []byte(text), nil)
		if len(problems) == 0 || !strings.Contains(problems.Error(), c.want) || problems[0].Where == "" {
			t.Errorf("%q for %q: %v, want %q", c.new, c.old, problems, c.want)
		}
	}
}

// Mistakes of all kinds are reported together: unknown keys, settings, work, placeholders.
func TestParse_NamesAllMistakesAtOnce(t *testing.T) {
	text := "nmae = \"toy\"\n" + head + "result = \"maybe\"\n[work]\ncount = \"m\"\n" + settings
	text = strings.Replace(text, "{x}", "{y}", 1)
	text = strings.Replace(text, "help = \"an x\"", "", 1)
	_, problems := Parse("type.toml", "/site", []byte(text), nil)
	for _, want := range []string{"nmae: ", "result: ", "settings[0].help: ", "work.count: ", "command[1]: "} {
		if len(problems) != 5 || !strings.Contains(problems.Error(), want) {
			t.Errorf("want %q of 5 problems: %v", want, problems)
		}
	}
	if _, problems := Parse("type.toml", "/site", []byte("name = \"toy\"\nprogram = \"x\"\nsumary = \"x\"\n"),
		nil); len(problems) != 1 {
		t.Errorf("of a program: %v", problems)
	}
	if _, problems := Parse("type.toml", "/site", []byte("name = toy\n"), nil); len(problems) != 1 {
		t.Errorf("no TOML: %v", problems)
	}
}

// If a parameter has a type with the name of another language, such as "integer", Parse reports one problem, which
// proposes the right word.
func TestParse_ATypeOfAnotherLanguageIsOneMistake(t *testing.T) {
	good := head + "[work]\ncount = \"n\"\n" + settings
	for _, c := range []struct{ old, new, want string }{
		{"\"whole number\"", "\"integer\"", `"integer": did you mean "whole number"? want text, whole number, number, ` +
			`true or false or list of words`},
		{"\"whole number\"", "\"Int\"", `did you mean "whole number"?`},
		{"\"number\"", "\"float\"", `did you mean "number"?`},
		{"\"list of words\"", "\"list\"", `did you mean "list of words"?`},
		{"\"number\"", "\"nmber\"", `did you mean "number"?`},
		{"\"number\"", "\"zebra\"", `"zebra": want text`},
	} {
		text := strings.Replace(good, "type = "+c.old, "type = "+c.new, 1)
		_, problems := Parse("type.toml", "/site", []byte(text), nil)
		if len(problems) != 1 || !strings.Contains(problems.Error(), c.want) {
			t.Errorf("%s: %v, want one problem with %q", c.new, problems, c.want)
		}
	}
}

// Mistakes in a job file are reported in the same way as for a built-in job type.
func TestCheck_RefusesWhatAJobFileSaysWrong(t *testing.T) {
	h := parsed(t, head+"[work]\ncount = \"n\"\n"+settings)
	for key, v := range map[string]any{"wrods": []any{"a"}, "x": 10.0, "n": 0.5, "words": "a"} {
		params := map[string]any{"words": []any{"a"}}
		params[key] = v
		problems := h.Check(&jjm.Spec{Type: "toy", Params: params}, handlers.Site{})
		if len(problems) != 1 || problems[0].Field != "params."+key {
			t.Errorf("%s: %v", key, problems)
		}
	}
	params := map[string]any{"words": []any{"a"}, "n": int64(900)}
	if problems := h.Check(&jjm.Spec{Params: params}, handlers.Site{MaxLocalJobs: 5}); len(problems) != 1 {
		t.Errorf("too many: %v", problems)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(head + "[work]\ncount = 2\n" + settings)
	f.Fuzz(func(t *testing.T, text string) {
		h, problems := Parse("type.toml", "/site", []byte(text), nil)
		if (h == nil) == (len(problems) == 0) {
			t.Fatalf("%v %v", h, problems)
		}
	})
}

// A grid job stores the text of its type's file as it was at the submission. The stored text determines how the grid
// job is cut, its commands, the meaning of its exit codes, and its recovery, even if the file changes later.
func TestPlan_TheTextOfTheFileIsStoredWithTheJob(t *testing.T) {
	work := func(perJob string) string {
		return head + "outputs = [\"" + perJob + "\"]\nprogress = \"p" + perJob +
			"\"\n[[ends]]\nexit_codes = [7]\naction = \"fail\"\ntext = \"" + perJob +
			"\"\n[work]\nevents = 10\nevents_per_job = " + perJob + "\n" + settings
	}
	was, now := parsed(t, work("5")), parsed(t, work("2"))
	spec, problems := handlers.Ready(was, &jjm.Spec{Type: "toy", Params: map[string]any{"words": []any{"a"}}},
		handlers.Site{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	recovery := *spec
	recovery.Recovers, recovery.Only = 1, []jjm.Span{{First: 6, Count: 5}}
	for h, want := range map[handlers.Handler]string{was: "5", now: "5"} {
		cut, err := h.Split(spec, handlers.Site{})
		if err != nil || cut.Jobs != 2 {
			t.Errorf("cut into %d: %v", cut.Jobs, err)
		}
		again, problems := handlers.Ready(h, &recovery, handlers.Site{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if cut, err := h.Split(again, handlers.Site{}); err != nil || cut.Jobs != 1 {
			t.Errorf("a recovery is cut into %d: %v", cut.Jobs, err)
		}
		cmd, err := h.Command(spec, &jjm.LocalJob{Part: jjm.Part{Unit: jjm.UnitEvent, First: 1, Count: 5}})
		if err != nil || !slices.Equal(cmd.Outputs, []string{want}) {
			t.Errorf("%+v, %v", cmd, err)
		}
		op := h.(handlers.Analyser).Analyse(spec, nil, &jjm.Result{Exit: 7})
		if op == nil || !strings.HasSuffix(op.Text, want) {
			t.Errorf("%+v", op)
		}
		said := []jjm.AppPhase{{Progress: jjm.Progress{Phase: "p" + want}, Ended: 1},
			{Progress: jjm.Progress{Phase: "q"}, Ended: 2}}
		if got := h.(handlers.Progress).Progress(spec, &jjm.LocalJob{}, said); got.Phase != "p"+want {
			t.Errorf("%+v", got)
		}
	}
	if cut, err := now.Split(&jjm.Spec{Type: "toy", Params: map[string]any{"words": []any{"a"}}},
		handlers.Site{}); err != nil ||
		cut.Jobs != 5 {
		t.Errorf("a new one is cut into %d: %v", cut.Jobs, err)
	}
	spec.Params[textKey] = "name = 3"
	if problems := now.Check(spec, handlers.Site{}); len(problems) != 1 || problems[0].Field != "params.jjm_type" {
		t.Errorf("a text that cannot be read: %v", problems)
	}
}

// The example in docs/JOB-TYPES.md of a type that reads files is valid exactly as it is printed there.
func TestPage_TheTypeThatReadsFilesIsRight(t *testing.T) {
	text, err := os.ReadFile("../../docs/JOB-TYPES.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```toml type\n")
	block, _, _ = strings.Cut(block, "```")
	h, problems := Parse("reco.toml", t.TempDir(), []byte(block), nil)
	if !found || len(problems) > 0 || h.Type() != "reco" {
		t.Errorf("found %v: %v", found, problems)
	}
}
