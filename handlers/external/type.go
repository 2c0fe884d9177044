package external

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"jjm"
	"jjm/handlers"
	"jjm/internal/strict"
	"jjm/split"
)

// The keys below params that hold a plan: the rows apart, for a command needs them not.
const (
	planKey = handlers.OwnKey + "plan"
	rowsKey = handlers.OwnKey + "rows"
)

// Type is a job type whose program is asked.
type Type struct {
	name, path string
	call       Caller

	// asking is held while the program is asked, for Learn alone.
	asking sync.Mutex

	mu    sync.Mutex   // never held while anything is waited for
	about *description // nil while the program has not told
	why   jjm.Problems // why it has not
	asked time.Time    // when it was asked last
}

// AskAgain is how long a program that does not say what it is, is left alone.
const AskAgain = time.Minute

var (
	_ handlers.Handler  = (*Type)(nil)
	_ handlers.Preparer = (*Type)(nil)
	_ handlers.Planner  = (*Type)(nil)
	_ handlers.Learner  = (*Type)(nil)
	_ handlers.Analyser = (*Type)(nil)
	_ handlers.Progress = (*Type)(nil)
)

// New returns the type of a program, an absolute path. It asks nothing yet; see Learn.
func New(name, path string, call Caller) *Type { return &Type{name: name, path: path, call: call} }

// Learn asks the program what it is, unless it has told, and says why it does not tell.
// Then the type cannot be used, but what it planned before goes on; a minute later it is
// asked again. Of several that call at once one asks, and the others wait for it.
func (t *Type) Learn() jjm.Problems {
	t.asking.Lock()
	defer t.asking.Unlock()
	about, why, asked := t.told()
	if about != nil || !asked.IsZero() && time.Since(asked) < AskAgain {
		return why
	}
	var d description
	why = t.ask(t.call, request{Verb: "describe"}, describeLimit, &d)
	if len(why) == 0 {
		for _, p := range d.check() {
			why = append(why, jjm.Problem{Field: "type",
				Text: fmt.Sprintf("describe of %s: %s: %s", t.path, p.Field, p.Text)})
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why, t.asked = why, time.Now(); len(why) == 0 {
		t.about = &d
	}
	return why
}

// told returns what the program told, or why it did not, and when it was asked last.
func (t *Type) told() (*description, jjm.Problems, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.about, t.why, t.asked
}

// Program is the path of the program.
func (t *Type) Program() string { return t.path }

// Type is the word in job files.
func (t *Type) Type() string { return t.name }

// Describe documents the type, as its program did. It asks nothing: a program that hangs
// must not stop those who want to read about the others.
func (t *Type) Describe() handlers.Description {
	d, _, asked := t.told()
	switch {
	case d == nil && asked.IsZero():
		return handlers.Description{Summary: "its program has not said yet what it is", Result: jjm.ResultExit}
	case d == nil:
		return handlers.Description{Summary: "cannot be used: its program does not say what it is", Result: jjm.ResultExit}
	}
	return handlers.Description{Summary: d.Summary, Result: d.Result, Reads: d.Reads, Along: d.Along,
		Params: d.Settings.Params(), Example: d.Example}
}

// Plan asks the program how a job is done.
func (t *Type) Plan(spec *jjm.Spec, site handlers.Site) (map[string]any, jjm.Problems) {
	if problems := t.Learn(); len(problems) > 0 {
		return nil, problems
	}
	about, _, _ := t.told()
	values, problems := about.Settings.Values(spec.Params)
	if len(problems) > 0 {
		return nil, problems
	}
	sum, err := digest(t.path)
	if err != nil {
		return nil, jjm.Problems{{Field: "type", Text: fmt.Sprintf("the program of type %s: %v", t.name, err)}}
	}
	var a answer
	problems = t.ask(site.Run, request{Verb: "plan", Settings: values,
		Job:  &jobPart{spec.Name, spec.Mode, spec.Datasets, spec.Inputs, spec.Outputs},
		Site: &sitePart{RecommendedCPU: site.RecommendedCPU, MaxCPU: site.MaxCPU, MaxLocalJobs: site.MaxJobs()}},
		planLimit, &a)
	if len(problems) > 0 {
		return nil, problems
	}
	for _, p := range a.Problems {
		problems = append(problems, jjm.Problem{Field: field(p.Field), Text: text(p.Text)})
	}
	switch {
	case len(problems) > 0:
		return nil, problems
	case a.Plan == nil:
		return nil, jjm.Problems{{Field: "type",
			Text: fmt.Sprintf("plan of %s: it tells neither problems nor a plan", t.path)}}
	}
	a.Plan.Why = append(a.Plan.Why, fmt.Sprintf("planned by %s, SHA-256 %s", filepath.Base(t.path), sum))
	return a.Plan.store()
}

// field is a field that a program names, or the whole of the settings.
func field(name string) string {
	if name == "" || len(name) > 200 || strings.ContainsAny(name, "\n\x00 ") {
		return "params"
	}
	return name
}

// text is what a program says of a mistake, on a line.
func text(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "is wrong, and the program of the type does not say why"
	}
	return s[:min(len(s), maxStderr)]
}

// store writes a plan as it lies below params.
func (p *plan) store() (map[string]any, jjm.Problems) {
	rows := p.Rows
	if rows != nil {
		p.Rows = &[][]string{}
	}
	b, err := json.Marshal(p)
	if err != nil {
		return nil, jjm.Problems{{Field: "type", Text: err.Error()}}
	}
	var table map[string]any
	if err := json.Unmarshal(b, &table); err != nil {
		return nil, jjm.Problems{{Field: "type", Text: err.Error()}}
	}
	out := map[string]any{planKey: table}
	if rows != nil {
		out[rowsKey] = *rows
	}
	return out, nil
}

// planOf reads the plan of a job file, without its rows.
func planOf(spec *jjm.Spec) (p plan, problems jjm.Problems) {
	table, ok := spec.Params[planKey].(map[string]any)
	if !ok {
		return p, jjm.Problems{{Field: "params." + planKey, Text: "there is no plan of the type's program"}}
	}
	return p, strict.DecodeMap(table, "params."+planKey, &p)
}

// unit is that of the parts.
func (p *plan) unit() string {
	switch {
	case p.Events != nil:
		return jjm.UnitEvent
	case p.Files != nil:
		return jjm.UnitFile
	}
	return jjm.UnitRow
}

// Check holds the plan against what jjm can do.
func (t *Type) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	_, problems := t.cut(spec, site)
	if len(problems) > 0 {
		return problems
	}
	p, _ := planOf(spec)
	_, _, problems = p.templates(handlers.Streams(spec))
	if why := handlers.CheckPhase(p.Progress); why != "" {
		problems = append(problems, jjm.Problem{Field: "params." + planKey + ".progress", Text: why})
	}
	return append(problems, p.Ends.Check("params."+planKey+".ends")...)
}

// Analyse says what becomes of an attempt by its exit code, as planned.
func (t *Type) Analyse(spec *jjm.Spec, _ *jjm.LocalJob, result *jjm.Result) *jjm.Opinion {
	p, problems := planOf(spec)
	if len(problems) > 0 {
		return nil // a plan of another jjm: exit code and log decide
	}
	return p.Ends.Opinion(result)
}

// Progress shows the phase that the plan names.
func (t *Type) Progress(spec *jjm.Spec, job *jjm.LocalJob, phases []jjm.AppPhase) jjm.Progress {
	p, _ := planOf(spec)
	return handlers.PhaseShown(p.Progress, &job.Part, phases)
}

// Split says how the work is cut, as planned.
func (t *Type) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	c, problems := t.cut(spec, site)
	return c, problems.Err()
}

// cut reads the plan.
func (t *Type) cut(spec *jjm.Spec, site handlers.Site) (c handlers.Cutting, problems jjm.Problems) {
	p, problems := planOf(spec)
	if len(problems) > 0 {
		return c, problems
	}
	bad := func(format string, args ...any) (handlers.Cutting, jjm.Problems) {
		return c, jjm.Problems{{Field: "type", Text: fmt.Sprintf("plan of %s: ", t.path) + fmt.Sprintf(format, args...)}}
	}
	kinds := 0
	for _, there := range []bool{p.Events != nil, p.Rows != nil, p.Files != nil} {
		if there {
			kinds++
		}
	}
	if kinds != 1 || len(p.Command) == 0 {
		return bad("want a command, and exactly one of events, rows and files")
	}
	if p.Files != nil {
		if problems := p.Files.check(); len(problems) > 0 {
			return bad("%s: %s", problems[0].Field, problems[0].Text)
		}
		c, problems = site.CutFiles(spec, p.Files.Splitter, func(s *split.Params) {
			_ = strict.DecodeMap(p.Files.Params, "params", s)
		})
		c.Why = append(slices.Clone(p.Why), c.Why...)
		return c, problems
	}
	c = handlers.Cutting{Splitter: split.ByRows, Why: slices.Clone(p.Why)}
	if e := p.Events; e != nil {
		c.Splitter, c.Params.EventsPerJob = split.ByEvents, e.PerJob
		if c.Work = (split.Work{First: 1, Events: e.Count}); e.First != nil {
			c.Work.First = *e.First
		}
		if e.Count < 1 || e.PerJob < 1 || c.Work.First < 0 || max(e.Count, e.PerJob, c.Work.First) > 1<<53 {
			return bad("events: want count and per_job of at least 1, first of at least 0, and none above 2^53")
		}
	} else {
		var rows struct {
			Rows [][]string `json:"rows"`
		}
		if problems := strict.DecodeMap(map[string]any{"rows": spec.Params[rowsKey]}, "params", &rows); len(problems) > 0 {
			return c, problems
		}
		if c.Work.Rows = rows.Rows; len(rows.Rows) == 0 {
			return bad("rows: want at least one")
		}
	}
	if c.Work.Only = spec.Only; spec.Only != nil {
		c.Why = append(c.Why, fmt.Sprintf("only %d ranges of them", len(spec.Only)))
	}
	return site.Cut(c, "params", "make fewer local jobs")
}

// check finds what is wrong with how files are cut.
func (f *files) check() (problems jjm.Problems) {
	p, err := split.Defaults(f.Splitter)
	if err != nil {
		return jjm.Problems{{Field: "files.splitter", Text: err.Error()}}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Params)) {
		if err := split.CheckSettings(f.Splitter, []string{key}); err != nil {
			problems = append(problems, jjm.Problem{Field: "files.params." + key, Text: err.Error()})
		}
	}
	return append(problems, strict.DecodeMap(f.Params, "files.params", &p)...)
}

// templates are the command and the environment.
func (p *plan) templates(streams []string) (command handlers.CommandTemplate, env map[string]handlers.CommandTemplate,
	problems jjm.Problems) {
	command, problems = handlers.ParseCommand("params."+planKey+".command", p.Command, p.unit(), streams...)
	env = make(map[string]handlers.CommandTemplate, len(p.Env))
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		t, more := handlers.ParseCommand("params."+planKey+".env."+name, []string{p.Env[name]}, p.unit(), streams...)
		env[name], problems = t.Literal(), append(problems, more...)
	}
	return command, env, problems
}

// Command is the command line of a part.
func (t *Type) Command(spec *jjm.Spec, job *jjm.LocalJob) (handlers.Command, error) {
	p, problems := planOf(spec)
	if len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	command, env, problems := p.templates(handlers.Streams(spec))
	if len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	values := handlers.PartValues(job, p.SeedOffset)
	out := handlers.Command{Argv: command.Expand(values), Outputs: p.Outputs}
	if len(env) > 0 {
		out.Env = make(map[string]string, len(env))
	}
	for name, t := range env {
		out.Env[name] = strings.Join(t.Expand(values), " ")
	}
	return out, nil
}

// Prepare lists the files that the program adds, from its own folder unless absolute.
func (t *Type) Prepare(spec *jjm.Spec, _ handlers.Site) ([]jjm.Input, error) {
	p, problems := planOf(spec)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	inputs := slices.Clone(p.Inputs)
	for i := range inputs {
		if !filepath.IsAbs(inputs[i].Path) {
			inputs[i].Path = filepath.Join(filepath.Dir(t.path), inputs[i].Path)
		}
	}
	return inputs, nil
}

// digest is the SHA-256 of a program, in hex.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
