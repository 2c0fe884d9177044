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

	"jjm/handlers"
	"jjm/internal/formats/strict"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// The keys below params that hold a plan. The rows, of which there may be many, are stored separately, because only
// cutting needs the rows; the command of a local job does not.
const (
	planKey = handlers.OwnKey + "plan"
	rowsKey = handlers.OwnKey + "rows"
)

// planField is the name of the plan in problems, because the plan's author never sees planKey.
const planField = "plan"

// Type is a job type that a program describes and plans.
type Type struct {
	name, path string
	call       Caller

	// asking is held while Learn runs the program.
	asking sync.Mutex

	mu    sync.Mutex   // not held during any wait
	about *description // nil until the program has answered
	why   jjm.Problems // the reason why there is no description; nil if the program was not asked yet
	asked time.Time    // time of the latest request to the program
}

// AskAgain is the time for which a program that failed to describe itself is not run again.
const AskAgain = time.Minute

var (
	_ handlers.Handler  = (*Type)(nil)
	_ handlers.Preparer = (*Type)(nil)
	_ handlers.Planner  = (*Type)(nil)
	_ handlers.Learner  = (*Type)(nil)
	_ handlers.Switched = (*Type)(nil)
	_ handlers.Analyser = (*Type)(nil)
	_ handlers.Progress = (*Type)(nil)
)

// New returns the type for a program, an absolute path. It does not run the program (see Learn).
func New(name, path string, call Caller) *Type { return &Type{name: name, path: path, call: call} }

// Learn runs the program to get the description of the type, unless the description is already known. If the program
// does not describe the type, Learn returns the problems; the type then accepts no new jobs, but jobs that it planned
// before continue. The program is then run again only after the time AskAgain. If several callers come at the same
// time, one of them runs the program and the others wait.
func (t *Type) Learn() jjm.Problems {
	t.asking.Lock()
	defer t.asking.Unlock()
	about, why, asked := t.answered()
	if about != nil || !asked.IsZero() && time.Since(asked) < AskAgain {
		return why
	}
	var d description
	why = t.ask(t.call, request{Verb: "describe"}, describeLimit, &d)
	if len(why) == 0 {
		for _, p := range d.check() {
			why = append(why, jjm.Problem{Field: "type",
				Text: t.whenAsked("describe") + p.Field + ": " + p.Text})
		}
	}
	for i := range why {
		why[i].Busy = false // the type is off until its program runs again
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why, t.asked = why, time.Now(); len(why) == 0 {
		t.about = &d
	}
	return why
}

// answered returns the description, or the reason why there is none, and the time of the latest request to the program.
func (t *Type) answered() (*description, jjm.Problems, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.about, t.why, t.asked
}

// Off returns the reason why the type is off, that is, accepts no new jobs: its program ran and did not describe the
// type. Off returns nil if the program described the type, or has not run yet.
func (t *Type) Off() *handlers.Off {
	d, why, asked := t.answered()
	if d != nil || asked.IsZero() || len(why) == 0 {
		return nil
	}
	why = slices.Clone(why)
	for i := range why { // a field would name a key of a job file
		why[i].Field = ""
	}
	return &handlers.Off{Type: t.name, File: t.path, Why: why}
}

// Program returns the path of the program.
func (t *Type) Program() string { return t.path }

// Type returns the type's name in job files.
func (t *Type) Type() string { return t.name }

// Describe returns the documentation from the program; if the program has not described itself, only the summary is
// set. It does not run the program: a program that hangs must not delay people who read about other types.
func (t *Type) Describe() handlers.Description {
	d, _, asked := t.answered()
	switch {
	case d == nil && asked.IsZero():
		return handlers.Description{Summary: "its program has not said yet what it is", Result: jjm.ResultExit}
	case d == nil:
		return handlers.Description{Summary: "off: its program does not describe the type", Result: jjm.ResultExit}
	}
	return handlers.Description{Summary: d.Summary, Result: d.Result, Reads: d.Reads, Along: d.Along,
		Params: d.Settings.Params(), Example: d.Example}
}

// Plan runs the program to plan a job. It returns the plan as values to be stored with the job's settings, or the
// problems that the program or jjm found.
func (t *Type) Plan(spec *jjm.Spec, site handlers.Site) (map[string]any, jjm.Problems) {
	if problems := t.Learn(); len(problems) > 0 {
		return nil, problems
	}
	about, _, _ := t.answered()
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
		Job: &jobPart{spec.Name, spec.Mode, spec.Datasets, spec.Inputs, spec.Outputs,
			spec.OutputsRequired},
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
			Text: t.whenAsked("plan") + "the reply has neither problems nor a plan"}}
	}
	a.Plan.Why = append(a.Plan.Why, fmt.Sprintf("planned by %s, SHA-256 %s", filepath.Base(t.path), sum))
	return a.Plan.store()
}

// field returns the field that a program names. If the name is not a valid field, it returns "params", the field for
// all settings.
func field(name string) string {
	if name == "" || len(name) > 200 || strings.ContainsAny(name, "\n\x00 ") {
		return "params"
	}
	return name
}

// text returns a program's text about a mistake as one line.
func text(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "is wrong, and the program of the type does not say why"
	}
	return s[:min(len(s), maxStderr)]
}

// store returns a plan as the values that are stored with the settings of a job.
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

// planOf returns the plan that is stored with a job, without its rows.
func planOf(spec *jjm.Spec) (p plan, problems jjm.Problems) {
	table, ok := spec.Params[planKey].(map[string]any)
	if !ok {
		return p, jjm.Problems{{Field: planField, Text: "the plan of the type's program is missing"}}
	}
	return p, strict.DecodeMap(table, planField, &p)
}

// unit returns the unit of the parts, which determines the placeholders of commands.
func (p *plan) unit() string {
	switch {
	case p.Events != nil:
		return jjm.UnitEvent
	case p.Files != nil:
		return jjm.UnitFile
	}
	return jjm.UnitRow
}

// Check returns the problems of the plan.
func (t *Type) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	_, problems := t.cut(spec, site)
	if len(problems) > 0 {
		return problems
	}
	p, _ := planOf(spec)
	_, problems = p.lines(handlers.Streams(spec))
	if why := handlers.CheckPhase(p.Progress); why != "" {
		problems = append(problems, jjm.Problem{Field: planField + ".progress", Text: why})
	}
	return append(problems, p.Ends.Check(planField+".ends")...)
}

// Analyse returns the opinion of the type about an attempt. If the planned command judged the attempt on the worker, it
// is that command's opinion, otherwise the meaning of the exit code. Analyse returns nil if there is neither, or if the
// plan cannot be read.
func (t *Type) Analyse(spec *jjm.Spec, _ *jjm.LocalJob, result *jjm.Result) *jjm.Opinion {
	p, problems := planOf(spec)
	if len(problems) > 0 {
		return nil // another version of jjm stored the plan; exit code and log decide
	}
	return p.Ends.Opinion(len(p.Analyse) > 0, result)
}

// Progress returns the progress of the phase that the plan names.
func (t *Type) Progress(spec *jjm.Spec, job *jjm.LocalJob, phases []jjm.AppPhase) jjm.Progress {
	p, _ := planOf(spec)
	return handlers.PhaseShown(p.Progress, &job.Part, phases)
}

// Split returns how the work is cut according to the job's plan. The error contains the problems with the plan or the
// cutting.
func (t *Type) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	c, problems := t.cut(spec, site)
	return c, problems.Err()
}

// cut returns how the work is cut according to the job's plan. It is a problem if the plan does not have exactly one
// kind of work.
func (t *Type) cut(spec *jjm.Spec, site handlers.Site) (c handlers.Cutting, problems jjm.Problems) {
	p, problems := planOf(spec)
	if len(problems) > 0 {
		return c, problems
	}
	bad := func(format string, args ...any) (handlers.Cutting, jjm.Problems) {
		return c, jjm.Problems{{Field: "type", Text: t.whenAsked("plan") + fmt.Sprintf(format, args...)}}
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
		lines, problems := p.lines(handlers.Streams(spec))
		if len(problems) > 0 {
			return c, problems
		}
		c, problems = site.CutFiles(spec, p.Files.Splitter, lines, func(s *split.Params) {
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
		c.Why = append(c.Why, fmt.Sprintf("only %d selected ranges", len(spec.Only)))
	}
	return site.Cut(c, "params", "make fewer local jobs")
}

// check returns the problems with the splitter for files and its settings.
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

// lines returns the templates of the commands of a part.
func (p *plan) lines(streams []string) (lines handlers.Lines, problems jjm.Problems) {
	parse := func(key string, words []string) handlers.CommandTemplate {
		t, more := handlers.ParseCommand(planField+"."+key, words, p.unit(), streams...)
		problems = append(problems, more...)
		return t
	}
	lines = handlers.Lines{Command: parse("command", p.Command), Analyse: parse("analyse", p.Analyse).Literal(),
		Env: make(map[string]handlers.CommandTemplate, len(p.Env))}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		n := len(problems)
		lines.Env[name] = parse("env."+name, []string{p.Env[name]}).Literal()
		for ; n < len(problems); n++ {
			problems[n].Field = planField + ".env." + name // the value is one text, not a list of words
		}
	}
	return lines, problems
}

// Command returns the command line of a part. The error contains the problems with the job's plan.
func (t *Type) Command(spec *jjm.Spec, job *jjm.LocalJob) (handlers.Command, error) {
	p, problems := planOf(spec)
	if len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	lines, problems := p.lines(handlers.Streams(spec))
	if len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	out := lines.Expand(handlers.PartValues(job, p.SeedOffset))
	out.Outputs, out.Required = p.Outputs, p.Required
	return out, nil
}

// Prepare returns the files that the program adds. Relative paths in the plan are made absolute, below the folder of
// the program. The error contains the problems with the job's plan.
func (t *Type) Prepare(spec *jjm.Spec, _ handlers.Site) ([]jjm.Input, error) {
	p, problems := planOf(spec)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	inputs := slices.Clone(p.Inputs)
	for i := range inputs {
		if !filepath.IsAbs(inputs[i].Path) && !weburl.Is(inputs[i].Path) {
			inputs[i].Path = filepath.Join(filepath.Dir(t.path), inputs[i].Path)
		}
		if file := inputs[i].CredentialFile; file != "" && !filepath.IsAbs(file) {
			inputs[i].CredentialFile = filepath.Join(filepath.Dir(t.path), file)
		}
	}
	return inputs, nil
}

// digest returns the SHA-256 of a program, in hexadecimal digits.
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
