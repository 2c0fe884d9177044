package declared

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"jjm/handlers"
	"jjm/internal/formats/jobfile"
	"jjm/internal/formats/strict"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// declared is the job type that one version of a file's text declares.
type declared struct {
	handlers.Form[reading]
	text   string
	file   *File
	inputs []jjm.Input
}

// reading holds the settings of a job file, parsed according to the file that declares the type, and the commands with
// these settings inserted.
type reading struct {
	file   *File
	values map[string][]string
	lines  handlers.Lines
}

// newType returns the type that a file without mistakes declares. dir is the folder of the file.
func newType(f *File, dir string) declared {
	t := declared{file: f, inputs: make([]jjm.Input, len(f.Inputs))}
	for i, in := range f.Inputs {
		if t.inputs[i] = in; !filepath.IsAbs(in.Path) && !weburl.Is(in.Path) {
			t.inputs[i].Path = filepath.Join(dir, in.Path)
		}
		if in.CredentialFile != "" && !filepath.IsAbs(in.CredentialFile) {
			t.inputs[i].CredentialFile = filepath.Join(dir, in.CredentialFile)
		}
	}
	t.Form = handlers.Form[reading]{Name: f.Name, About: f.describe(), Read: f.read, Cut: f.cut, Line: reading.line}
	return t
}

// tryExample checks the type's example with the type itself. A problem means that the type would refuse its own
// example.
func (t declared) tryExample() jjm.Problems {
	doc, problems := jobfile.Parse("example", []byte(t.About.Example))
	if len(problems) == 0 && doc.Spec.Type != t.Name {
		problems = jjm.Problems{{Field: "type", Text: fmt.Sprintf("%.40q: want %q", doc.Spec.Type, t.Name)}}
	}
	if len(problems) == 0 {
		nowhere := func(path string) (io.ReadCloser, error) {
			return nil, jjm.Errorf(jjm.Invalid, "%s: an example reads no files", path)
		}
		problems = handlers.Examine(t, &doc.Spec, handlers.Site{Open: nowhere})
	}
	if len(problems) == 0 {
		return nil
	}
	return jjm.Problems{{Field: "example", Text: "is refused by the type itself: " + problems.Error()}}
}

// describe returns the documentation of the type.
func (f *File) describe() handlers.Description {
	d := handlers.Description{Summary: f.Summary, Result: f.Result, Reads: f.Work.Files != "", Along: f.Work.Events != nil,
		Cut: f.Work.cutText(), Params: f.Settings.Params(), Example: f.Example}
	if d.Example == "" {
		d.Example = f.example()
	}
	return d
}

// cutText returns the splitter for files with the settings of the file, "" if the type reads no files.
func (w *Work) cutText() string {
	if w.Files == "" || len(w.Params) == 0 {
		return w.Files
	}
	return w.Files + ", " + tableText(w.Params)
}

// tableText returns the keys of a table with their values, as in TOML.
func tableText(table map[string]any) string {
	texts := make([]string, 0, len(table))
	for _, key := range slices.Sorted(maps.Keys(table)) {
		text := ""
		if inner, ok := table[key].(map[string]any); ok {
			text = "{ " + tableText(inner) + " }"
		} else {
			text = literal(table[key])
		}
		texts = append(texts, key+" = "+text)
	}
	return strings.Join(texts, ", ")
}

// example returns a job file with the required settings.
func (f *File) example() string {
	var b strings.Builder
	fmt.Fprintf(&b, "type = %q\n", f.Name)
	if f.Work.Files != "" {
		b.WriteString("\n[[datasets]]\nname = \"raw\"\nfiles = [{ lfn = \"/data/1\", events = 10, size = 1000 }, " +
			"{ lfn = \"/data/2\", events = 10, size = 1000 }]\n")
	}
	params := f.Settings.Example()
	if len(params) == 0 {
		return b.String()
	}
	b.WriteString("\n[params]\n")
	for _, s := range f.Settings { // in the order of the settings in the file
		if v, there := params[s.Name]; there {
			fmt.Fprintf(&b, "%s = %s\n", s.Name, literal(v))
		}
	}
	return b.String()
}

// literal returns a value in TOML.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case float64:
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i] = literal(v[i])
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// read parses the settings of a job file and inserts their values into the commands and the environment.
func (f *File) read(spec *jjm.Spec) (r reading, problems jjm.Problems) {
	r.file = f
	if r.values, problems = f.Settings.Read(spec.Params); len(problems) > 0 {
		return r, problems
	}
	unit, streams := f.Work.unit(), handlers.Streams(spec)
	if len(f.Settings.Insert(f.Command, unit, r.values)) == 0 {
		return r, jjm.Problems{{Field: "params", Text: "leave no word in the command: give a list that names the program"}}
	}
	parse := func(words []string) handlers.CommandTemplate {
		t, more := handlers.ParseCommand("params", f.Settings.Insert(words, unit, r.values), unit, streams...)
		problems = append(problems, more...)
		return t
	}
	r.lines = handlers.Lines{Command: parse(f.Command), Analyse: parse(f.Analyse).Literal(),
		Env: make(map[string]handlers.CommandTemplate, len(f.Env))}
	for name, text := range f.Env {
		r.lines.Env[name] = parse([]string{text}).Literal()
	}
	return r, problems
}

// line returns the command line of a part.
func (r reading) line(job *jjm.LocalJob) handlers.Command {
	cmd := r.lines.Expand(handlers.PartValues(job, r.amount(r.file.Work.SeedOffset)))
	cmd.Outputs, cmd.Required = r.file.Outputs, r.file.Required
	return cmd
}

// amount returns the value of an amount of the file: the amount is a number, or the name of a setting whose value is
// the number.
func (r reading) amount(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(r.values[v][0], 10, 64) // the schema ensures that it is a number
		return n
	}
	return 0
}

// cut returns how the work is cut with these settings.
func (f *File) cut(r reading, spec *jjm.Spec, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	w := &f.Work
	if w.Files != "" {
		return site.CutFiles(spec, w.Files, r.lines, func(p *split.Params) {
			_ = strict.DecodeMap(w.Params, "work.params", p)
		})
	}
	c := handlers.Cutting{Splitter: split.ByRows, Why: []string{fmt.Sprintf("the type %s is declared so", f.Name)}}
	field := "params"
	switch {
	case w.Events != nil:
		c.Splitter, c.Params.EventsPerJob = split.ByEvents, r.amount(w.EventsPerJob)
		if c.Work = (split.Work{First: 1, Events: r.amount(w.Events)}); w.FirstEvent != nil {
			c.Work.First = r.amount(w.FirstEvent)
		}
		if c.Params.EventsPerJob == 0 || c.Work.Events == 0 {
			return c, jjm.Problems{{Field: field, Text: "make no local jobs: 0 events, in all or in each"}}
		}
		c.Why = append(c.Why, fmt.Sprintf("%s in ranges of %d", jjm.Count(c.Work.Events, "event"), c.Params.EventsPerJob))
	case w.Rows != "":
		field = "params." + w.Rows
		for _, word := range r.values[w.Rows] {
			c.Work.Rows = append(c.Work.Rows, []string{word})
		}
		c.Why = append(c.Why, fmt.Sprintf("%s has %d words", w.Rows, len(c.Work.Rows)))
	default:
		n := r.amount(w.Count)
		if n > int64(site.MaxJobs()) {
			return c, jjm.Problems{{Field: field, Text: site.TooMany(n, "set a smaller count")}}
		}
		c.Work.Rows = make([][]string, n)
		c.Why = append(c.Why, fmt.Sprintf("count is %d", n))
	}
	if c.Splitter == split.ByRows && len(c.Work.Rows) == 0 {
		return c, jjm.Problems{{Field: field, Text: "make no local jobs: give at least one"}}
	}
	if c.Work.Only = spec.Only; spec.Only != nil {
		c.Why = append(c.Why, fmt.Sprintf("only %d selected ranges", len(spec.Only)))
	}
	return site.Cut(c, field, "make fewer local jobs")
}
