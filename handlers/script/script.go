// Package script is the job type for any command: it runs the command once, a given number of times, once per row of a
// list, or once per range of events.
package script

import (
	"fmt"
	"maps"
	"strings"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// Handler is the job type "script". The zero value is ready for use.
type Handler struct{}

var (
	_ handlers.Handler  = Handler{}
	_ handlers.Preparer = Handler{}
)

// params are the settings. At most one of count, args, args_file and events may be given: it defines
// the local jobs.
type params struct {
	Command      []string   `json:"command" required:"true" help:"the words of the command; may hold {serial} {seed} {job}, with events also {first_event} {events} {last_event}, else {row} {args}"`
	Count        int64      `json:"count" default:"1" min:"1" max:"10000000" unit:"local jobs" help:"run the command so many times"`
	Args         [][]string `json:"args" help:"run the command once per row, with its words appended or in place of {args}"`
	ArgsFile     string     `json:"args_file" help:"the same with rows from a file: one per line, words separated by blanks, double quotes around words with blanks, # before comments"`
	Events       int64      `json:"events" min:"1" max:"9007199254740992" unit:"events" help:"run the command once per range of events; needs events_per_job"`
	FirstEvent   int64      `json:"first_event" default:"1" min:"0" max:"9007199254740992" help:"the number of the first event"`
	EventsPerJob int64      `json:"events_per_job" min:"1" max:"9007199254740992" unit:"events" help:"the size of a range"`
	SeedOffset   int64      `json:"seed_offset" default:"0" min:"0" max:"9007199244740992" help:"added to the serial of a local job to make {seed}"`
}

// Type returns the type's name in job files.
func (Handler) Type() string { return "script" }

// Describe returns the documentation of the type.
func (Handler) Describe() handlers.Description {
	return handlers.Description{
		Summary:   "run any command: once, many times, once per row of a list, or once per range of events",
		Result:    jjm.ResultExit,
		Splitters: []string{split.ArgSplitter, split.GenericSplitter, split.GaussSplitter},
		Along:     true,
		Params:    handlers.ParamsOf(params{}),
		Example: `type = "script"

[params]
command = ["echo", "hello from", "{job}:"]
args = [["red", "1"], ["green", "2"]]
`,
	}
}

// Check returns the problems with the settings and with the file of rows.
func (h Handler) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	p, how, problems := decode(spec)
	_, more := handlers.ParseCommand("params.command", p.Command, unit(spec, how), handlers.Streams(spec)...)
	problems = append(problems, handlers.Unparsed("params.command", p.Command, problems)...)
	if problems = append(problems, more...); len(problems) > 0 {
		return problems
	}
	_, problems = cutWork(spec, p, how, site)
	return problems
}

// cutWork returns how the work is cut: by the splitter that the job file names, or otherwise by the settings.
func cutWork(spec *jjm.Spec, p params, how string, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	own, ok, problems := handlers.OwnWorkOf(spec)
	switch {
	case len(problems) > 0:
		return handlers.Cutting{}, problems
	case ok:
		return own.Cut(spec.Only, site)
	}
	return cut(p, how, spec.Only, site)
}

// Split returns how the work that the settings describe is cut. The error contains the problems with the settings or
// the cutting.
func (h Handler) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	p, how, problems := decode(spec)
	if problems != nil {
		return handlers.Cutting{}, problems.Err()
	}
	c, problems := cutWork(spec, p, how, site)
	return c, problems.Err()
}

// Prepare returns the file of rows, unless it is already an input of the job. The file is sent along with the job, so
// that a later change of the file does not change the cutting. The error contains the problems with the settings.
func (h Handler) Prepare(spec *jjm.Spec, _ handlers.Site) ([]jjm.Input, error) {
	p, how, problems := decode(spec)
	if problems != nil || how != "args_file" {
		return nil, problems.Err()
	}
	for _, in := range spec.Inputs {
		if in.Path == p.ArgsFile {
			return nil, nil
		}
	}
	return []jjm.Input{{Path: p.ArgsFile, Name: "jjm-args-file"}}, nil
}

// Command returns the command line of a part, that is, of one row or range. The error contains the problems with the
// settings.
func (h Handler) Command(spec *jjm.Spec, job *jjm.LocalJob) (handlers.Command, error) {
	lean := *spec
	if _, ok := spec.Params["args"]; ok {
		// Check has read all rows, and the part contains its own row. Reading all rows again for each part would take
		// quadratic time.
		lean.Params = maps.Clone(spec.Params)
		lean.Params["args"] = []any{[]any{}}
	}
	p, how, problems := decode(&lean)
	if own, ok, more := handlers.OwnWorkOf(spec); ok {
		if problems = append(problems, more...); len(problems) > 0 {
			return handlers.Command{}, problems.Err()
		}
		return own.Command(p.Command, job, p.SeedOffset)
	}
	t, more := handlers.ParseCommand("params.command", p.Command, unit(spec, how), handlers.Streams(spec)...)
	if problems = append(problems, more...); len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	return handlers.Command{Argv: t.Expand(handlers.PartValues(job, p.SeedOffset))}, nil
}

// decode parses the settings. how is the key that defines the local jobs: count, args, args_file or events.
func decode(spec *jjm.Spec) (p params, how string, problems jjm.Problems) {
	problems = handlers.DecodeParams(spec.Params, &p)
	bad := func(key, text string) {
		problems = append(problems, jjm.Problem{Field: "params." + key, Text: text})
	}
	given := func(key string) bool { _, ok := spec.Params[key]; return ok }
	var ways []string
	for _, key := range []string{"count", "args", "args_file", "events"} {
		if given(key) {
			ways = append(ways, key)
		}
	}
	how = "count"
	if len(ways) > 0 {
		how = ways[0]
	}
	if spec.Split != nil && len(ways) > 0 {
		bad(ways[0], "split says what the local jobs are: leave it out")
	}
	if len(ways) > 1 {
		bad(ways[1], fmt.Sprintf("give only one of %s", strings.Join(ways, ", ")))
	}
	switch {
	case how == "events" && !given("events_per_job"):
		bad("events_per_job", "is missing: events says how many in all, events_per_job how many for a local job")
	case how == "args" && len(p.Args) == 0 && len(problems) == 0:
		bad("args", "has no rows: give one list of words per local job")
	case how == "args_file" && p.ArgsFile == "" && len(problems) == 0:
		bad("args_file", "is empty: name a file")
	}
	for _, key := range []string{"first_event", "events_per_job"} {
		if given(key) && how != "events" {
			bad(key, "means nothing without events")
		}
	}
	return p, how, problems
}

// unit returns the unit of the parts, which determines the placeholders of the command.
func unit(spec *jjm.Spec, how string) string {
	if how == "events" || spec.Split != nil && spec.Split.By == split.GaussSplitter {
		return jjm.UnitEvent
	}
	return jjm.UnitRow
}

// cut returns how the work is cut by the settings. how is the setting that defines the local jobs.
func cut(p params, how string, only []jjm.Span, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	c := handlers.Cutting{Splitter: split.ByRows}
	field, remedy := "params."+how, "set a smaller count"
	bad := func(text string) (handlers.Cutting, jjm.Problems) {
		return handlers.Cutting{}, jjm.Problems{{Field: field, Text: text}}
	}
	switch how {
	case "events":
		c.Splitter, remedy = split.ByEvents, "set a larger events_per_job"
		c.Params.EventsPerJob = p.EventsPerJob
		c.Work = split.Work{First: p.FirstEvent, Events: p.Events}
		c.Why = []string{fmt.Sprintf("%s in ranges of %d", jjm.Count(p.Events, "event"), p.EventsPerJob)}
	case "args":
		c.Work.Rows, remedy = p.Args, "give fewer rows"
		c.Why = []string{"args has " + jjm.Count(len(p.Args), "row")}
	case "args_file":
		rows, err := site.ReadRows(p.ArgsFile, site.MaxJobs())
		switch {
		case err != nil:
			return bad(err.Error())
		case len(rows) == 0:
			return bad(fmt.Sprintf("%q has no rows", p.ArgsFile))
		case len(rows) > site.MaxJobs():
			return bad(fmt.Sprintf(
				"%q has more than %d rows, the most local jobs that this site allows per grid job: give fewer rows", p.ArgsFile,
				site.MaxJobs()))
		}
		c.Work.Rows = rows
		c.Why = []string{fmt.Sprintf("%q has %s", p.ArgsFile, jjm.Count(len(rows), "row"))}
	default:
		if p.Count > int64(site.MaxJobs()) {
			return bad(site.TooMany(p.Count, remedy))
		}
		c.Work.Rows = make([][]string, p.Count)
		c.Why = []string{fmt.Sprintf("count is %d", p.Count)}
	}
	if c.Work.Only = only; only != nil {
		c.Why = append(c.Why, fmt.Sprintf("only %d selected ranges", len(only)))
	}
	return site.Cut(c, field, remedy)
}
