package declared

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"

	"jjm/handlers"
	"jjm/handlers/external"
	"jjm/internal/formats/strict"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
	"jjm/internal/work/split"
)

// File is the content of a file that declares a job type, that is, describes it without Go code.
type File struct {
	// Name is the name of the job type in job files; Summary describes the job type in one line for people.
	Name    string `toml:"name"`
	Summary string `toml:"summary"`
	// Result is how jobs of the type report their end unless the job file sets another way: "exit" (by the exit code, the
	// default) or "glf" (by a GBS log file).
	Result string `toml:"result"`
	// Program is the path of a program that describes all other properties of the job type (see package external). The
	// path is relative to the folder of this file.
	Program string `toml:"program"`
	// Command contains the words of the command line. Env is added to the environment of the command. Both may contain
	// placeholders for settings and for values of the part.
	Command []string          `toml:"command"`
	Env     map[string]string `toml:"env"`
	// Outputs are the names of output files to collect, in addition to the outputs that the job file names. Required are
	// the names of further output files to collect; an attempt only succeeds if it has written all Required files. Inputs
	// are files that are sent along with each grid job; their paths are relative to the folder of this file.
	Outputs  []string    `toml:"outputs"`
	Required []string    `toml:"outputs_required"`
	Inputs   []jjm.Input `toml:"inputs"`
	// Work describes the work that is divided among the local jobs of a grid job.
	Work Work `toml:"work"`
	// Analyse contains the words of a command that runs on the worker after the application and judges the attempt.
	Analyse []string `toml:"analyse"`
	// Ends maps exit codes of the application to verdicts on the attempt. Phase names one phase of the application: the
	// progress of this phase is shown as the progress of the local job.
	Ends  handlers.Ends `toml:"ends"`
	Phase string        `toml:"progress"`
	// Rules are rules about the ends of attempts. They outrank the site's rules.
	Rules []rule.Rule `toml:"rule"`
	// Settings describes the settings of the job type. Job files set them in their section [params].
	Settings handlers.Schema `toml:"settings"`
	// Example is a complete job file. If it is empty, an example with the required settings is made.
	Example string `toml:"example"`
}

// Work describes the work of a job type. It is of one of four kinds: ranges of events (EventsPerJob and the other
// fields with "event"), a number of local jobs (Count), one local job for each word of a list (Rows), or files of
// datasets (Files). An amount is either a number or the name of a setting whose value is the number.
type Work struct {
	Events       any `toml:"events"`
	EventsPerJob any `toml:"events_per_job"`
	FirstEvent   any `toml:"first_event"`
	Count        any `toml:"count"`
	// Rows is the name of a setting whose value is a list of words.
	Rows string `toml:"rows"`
	// Files is the splitter that cuts the files, unless the job file names another splitter. Params are the default
	// parameters of this splitter.
	Files  string         `toml:"files"`
	Params map[string]any `toml:"params"`
	// SeedOffset is added to the serial number of a local job. The placeholder {seed} stands for the sum.
	SeedOffset any `toml:"seed_offset"`
}

var typeName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// Parse returns the type that a file's text declares. dir is the folder of the file; call runs the file's program, if
// it names one. The problems name every mistake with its place in the file.
func Parse(path, dir string, text []byte, call external.Caller) (handlers.Handler, jjm.Problems) {
	var f File
	places, problems := strict.Decode(path, text, &f)
	if len(problems) == 0 && f.Program != "" {
		h, problems := f.programType(dir, call)
		return h, places.Locate(problems)
	}
	d, problems := parse(path, dir, text)
	if len(problems) > 0 {
		return nil, problems
	}
	return &Type{declared: d, path: filepath.Join(dir, filepath.Base(path))}, nil
}

// programType returns the type for a file that names a program. The program describes all other properties of the type.
func (f *File) programType(dir string, call external.Caller) (handlers.Handler, jjm.Problems) {
	if !typeName.MatchString(f.Name) {
		return nil, f.check()[:1]
	}
	if rest := (File{Name: f.Name, Program: f.Program}); !reflect.DeepEqual(*f, rest) {
		return nil, jjm.Problems{{Field: "program", Text: "describes everything but the name: leave the other keys out, or this one"}}
	}
	path := f.Program
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, jjm.Problems{{Field: "program",
			Text: fmt.Sprintf("there is no %s: put the program there, or correct the path", path)}}
	}
	if err != nil {
		return nil, jjm.Problems{{Field: "program", Text: err.Error()}}
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil, jjm.Problems{{Field: "program",
			Text: fmt.Sprintf("%s is not a program (%v): chmod +x", path, info.Mode())}}
	}
	return external.New(f.Name, path, call), nil
}

// check returns the problems of the values of a file that declares a type without a program.
func (f *File) check() (problems jjm.Problems) {
	bad := func(field, format string, args ...any) {
		problems = append(problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if !typeName.MatchString(f.Name) {
		bad("name", "%.40q: want small letters, digits, - and _, such as zmumu", f.Name)
	}
	if f.Summary == "" {
		bad("summary", "is missing: one line that says what the type does")
	}
	if f.Result == "" {
		f.Result = jjm.ResultExit
	}
	if f.Result != jjm.ResultExit && f.Result != jjm.ResultGLF {
		bad("result", "%.40q: want %q or %q", f.Result, jjm.ResultExit, jjm.ResultGLF)
	}
	if len(f.Command) == 0 {
		bad("command", "is missing: the words of the command line")
	}
	if why := handlers.CheckPhase(f.Phase); why != "" {
		bad("progress", "%s", why)
	}
	for i := range f.Inputs {
		for _, p := range weburl.Check(&f.Inputs[i]) {
			bad(fmt.Sprintf("inputs[%d].%s", i, p.Field), "%s", p.Text)
		}
	}
	problems = append(problems, f.Ends.Check("ends")...)
	problems = append(problems, rule.Check("rule", f.Rules)...)
	problems = append(problems, f.Settings.Check("settings")...)
	problems = append(problems, f.Work.check(f.Settings)...)
	return append(problems, f.checkWords()...)
}

// checkWords returns the problems with the placeholders in commands and environment.
func (f *File) checkWords() jjm.Problems {
	unit, sample, own := f.Work.unit(), map[string][]string{}, make([]string, len(f.Settings))
	for i, s := range f.Settings {
		sample[s.Name], own[i] = []string{"x"}, "{"+s.Name+"}"
	}
	_, problems := handlers.ParseCommand("command", f.Settings.Insert(f.Command, unit, sample), unit, own...)
	_, more := handlers.ParseCommand("analyse", f.Settings.Insert(f.Analyse, unit, sample), unit, own...)
	problems = append(problems, more...)
	for _, name := range slices.Sorted(maps.Keys(f.Env)) {
		words := f.Settings.Insert([]string{f.Env[name]}, unit, sample)
		_, more := handlers.ParseCommand("", words, unit, own...)
		for _, p := range more {
			problems = append(problems, jjm.Problem{Field: "env." + name, Text: p.Text}) // a text, not a list of words
		}
	}
	return problems
}

// check returns the problems of the work.
func (w *Work) check(schema handlers.Schema) (problems jjm.Problems) {
	bad := func(field, format string, args ...any) {
		problems = append(problems, jjm.Problem{Field: "work." + field, Text: fmt.Sprintf(format, args...)})
	}
	kinds := 0
	for _, there := range []bool{w.Events != nil, w.Count != nil, w.Rows != "", w.Files != ""} {
		if there {
			kinds++
		}
	}
	if kinds != 1 {
		problems = append(problems, jjm.Problem{Field: "work", Text: fmt.Sprintf(
			"says %d things: want exactly one of events, count, rows and files", kinds)})
		return problems
	}
	for field, v := range map[string]any{"events": w.Events, "events_per_job": w.EventsPerJob, "first_event": w.FirstEvent,
		"count": w.Count, "seed_offset": w.SeedOffset} {
		if why := amountProblem(schema, v); why != "" {
			bad(field, "%s", why)
		}
	}
	if (w.Events == nil) != (w.EventsPerJob == nil) {
		bad("events_per_job", "goes with events: give both, or neither")
	}
	if w.FirstEvent != nil && w.Events == nil {
		bad("first_event", "means nothing without events")
	}
	if s := schema.Find(w.Rows); w.Rows != "" && (s == nil || s.Typed() && s.Type != handlers.SettingWords) {
		bad("rows", "%.40q: want the name of a setting that is a %s", w.Rows, handlers.SettingWords)
	}
	if len(w.Params) > 0 && w.Files == "" {
		bad("params", "are settings of the splitter of files: they mean nothing without files")
	}
	return append(problems, w.checkFiles()...)
}

// checkFiles returns the problems with the splitter for files.
func (w *Work) checkFiles() (problems jjm.Problems) {
	if w.Files == "" {
		return nil
	}
	unit, err := split.Unit(w.Files)
	if err != nil {
		return jjm.Problems{{Field: "work.files", Text: err.Error()}}
	}
	if unit == jjm.UnitEvent || unit == jjm.UnitRow {
		return jjm.Problems{{Field: "work.files", Text: fmt.Sprintf(
			"%q makes its work itself: want one that cuts files, such as %s", w.Files, split.FileBased)}}
	}
	for _, key := range slices.Sorted(maps.Keys(w.Params)) {
		if err := split.CheckSettings(w.Files, []string{key}); err != nil {
			problems = append(problems, jjm.Problem{Field: "work.params." + key, Text: err.Error()})
		}
	}
	p, err := split.Defaults(w.Files)
	if err != nil || len(problems) > 0 {
		return problems
	}
	if problems := strict.DecodeMap(w.Params, "work.params", &p); len(problems) > 0 {
		return problems
	}
	return checkValues(w.Files, p)
}

// checkValues returns the problems with the values of a splitter's settings. Each splitter checks these values when it
// cuts, so checkValues cuts an empty list of files.
func checkValues(splitter string, p split.Params) (problems jjm.Problems) {
	for _, problem := range p.Task.Problems() {
		problems = append(problems, jjm.Problem{Field: "work.params.task." + problem.Field, Text: problem.Text})
	}
	if p.Records.FirstEvent != nil {
		problems = append(problems, jjm.Problem{Field: "work.params.records.first_event",
			Text: "events are counted within their files, from 0 on: leave it out"})
	}
	if len(problems) > 0 {
		return problems
	}
	_, problems = handlers.Site{}.Cut(handlers.Cutting{Splitter: splitter, Params: p, Work: split.Work{Closed: true}},
		"work.params", "change the settings of the splitter")
	return problems
}

// unit returns the unit of the parts, which determines the placeholders of commands.
func (w *Work) unit() string {
	switch {
	case w.Events != nil:
		return jjm.UnitEvent
	case w.Files != "":
		return jjm.UnitFile
	}
	return jjm.UnitRow
}

// amountProblem returns what is wrong with an amount, "" if it is valid or not set.
func amountProblem(schema handlers.Schema, v any) string {
	const want = "want a whole number, or the name of a setting that is one"
	switch v := v.(type) {
	case nil:
		return ""
	case int64:
		if v < 0 || v > 1<<53 {
			return fmt.Sprintf("%d is out of range: want 0 to 2^53", v)
		}
		return ""
	case string:
		s := schema.Find(v)
		switch {
		case s != nil && !s.Typed():
			return "" // another check reports a setting of a wrong type
		case s == nil || s.Type != handlers.SettingWhole:
			return fmt.Sprintf("%.40q: %s", v, want)
		case s.Min == nil || *s.Min < 0:
			return fmt.Sprintf("setting %s has no min of 0 or more: give it one", v)
		case !s.Required && s.Default == nil:
			return fmt.Sprintf("setting %s is neither required nor has it a default: give it one of the two", v)
		}
		return ""
	}
	return fmt.Sprintf("%v: %s", v, want)
}
