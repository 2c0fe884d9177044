// Package montecarlo is the job type for simulation: a number of events, cut into local jobs whose size suits the site.
// Each local job runs the experiment's own driver for its range of events.
//
// The number of events of a local job is computed from the CPU time of an event and from the CPU times that the site
// recommends and allows per local job. If one of these is unknown, a rule of thumb applies (JIM, section on job
// managers; decision R20).
package montecarlo

import (
	"fmt"
	"maps"
	"math"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// RuleOfThumb is the number of events per local job if the CPU times are unknown: the typical size of a D0 Monte Carlo
// job.
const RuleOfThumb = 250

// The values of outputs_per_phase.
const (
	outputsOne  = "one"
	outputsMany = "many"
)

// Handler is the job type "montecarlo". The zero value is ready for use.
type Handler struct{}

var _ handlers.Handler = Handler{}

// params are the settings. Event numbers are at most 2^53, up to which a float64 is exact,
// because scripts and JSON compute with float64.
type params struct {
	Command            []string `json:"command" required:"true" help:"the words of the command; may hold {first_event} {events} {last_event} {serial} {seed} {job}"`
	Events             int64    `json:"events" required:"true" min:"1" max:"9007199254740992" unit:"events" help:"how many events to make in all"`
	FirstEvent         int64    `json:"first_event" default:"1" min:"0" max:"9007199254740992" help:"the number of the first event"`
	CPUPerEvent        float64  `json:"cpu_per_event" min:"0.000001" max:"1e9" unit:"seconds" help:"the CPU time of one event; with it the site chooses the size of local jobs"`
	EventsPerJob       int64    `json:"events_per_job" min:"1" max:"9007199254740992" unit:"events" help:"the size of a local job, instead of the site's choice"`
	OutputsPerPhase    string   `json:"outputs_per_phase" enum:"one|many" default:"one" help:"how many output files a phase of a local job may write; one lets max_events_per_output bound the local job"`
	MaxEventsPerOutput int64    `json:"max_events_per_output" min:"1" max:"9007199254740992" unit:"events" help:"the most events an output file may hold"`
	SeedOffset         int64    `json:"seed_offset" default:"0" min:"0" max:"9007199244740992" help:"added to the serial of a local job to make {seed}"`
}

// Type returns the type's name in job files.
func (Handler) Type() string { return "montecarlo" }

// Describe returns the documentation of the type.
func (Handler) Describe() handlers.Description {
	return handlers.Description{
		Summary:   "simulate a number of events in local jobs of a size that suits the site",
		Result:    jjm.ResultGLF,
		Splitters: []string{split.GaussSplitter},
		Along:     true,
		Params:    handlers.ParamsOf(params{}),
		Example: `type = "montecarlo"
outputs = ["*.txt"]

[[inputs]]
path = "mc.sh"
executable = true

[params]
command = ["mc.sh", "{first_event}", "{events}"]
events = 2000
cpu_per_event = 12.5
`,
	}
}

// Check returns the problems of the settings.
func (h Handler) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	p, problems := decode(spec)
	_, more := handlers.ParseCommand("params.command", p.Command, jjm.UnitEvent, handlers.Streams(spec)...)
	problems = append(problems, handlers.Unparsed("params.command", p.Command, problems)...)
	if problems = append(problems, more...); len(problems) > 0 {
		return problems
	}
	_, problems = cutWork(spec, p, site)
	return problems
}

// decode parses the settings. If the job file names a splitter, which sets the total number of events and the number
// for each local job, decode returns a problem for the settings of these numbers.
func decode(spec *jjm.Spec) (p params, problems jjm.Problems) {
	if spec.Split == nil {
		return p, handlers.DecodeParams(spec.Params, &p)
	}
	for _, key := range []string{"events", "first_event", "events_per_job", "cpu_per_event", "max_events_per_output",
		"outputs_per_phase"} {
		if _, given := spec.Params[key]; given {
			problems = append(problems, jjm.Problem{Field: "params." + key,
				Text: "split says how many events each local job makes: leave it out"})
		}
	}
	if len(problems) > 0 {
		return p, problems
	}
	given := maps.Clone(spec.Params)
	if given == nil {
		given = map[string]any{}
	}
	given["events"] = int64(1) // decoding requires events; the splitter sets the number
	return p, handlers.DecodeParams(given, &p)
}

// cutWork returns how the events are cut: by the splitter that the job file names, or otherwise by the settings.
func cutWork(spec *jjm.Spec, p params, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	own, ok, problems := handlers.OwnWorkOf(spec)
	switch {
	case len(problems) > 0:
		return handlers.Cutting{}, problems
	case ok:
		return own.Cut(spec.Only, site)
	}
	return cut(p, spec.Only, site)
}

// Split returns how the events are cut into ranges. The error contains the problems with the settings or the cutting.
func (h Handler) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	p, problems := decode(spec)
	if len(problems) > 0 {
		return handlers.Cutting{}, problems.Err()
	}
	c, problems := cutWork(spec, p, site)
	return c, problems.Err()
}

// Command returns the driver's command line for one range. The error contains the problems with the settings.
func (h Handler) Command(spec *jjm.Spec, job *jjm.LocalJob) (handlers.Command, error) {
	p, problems := decode(spec)
	t, more := handlers.ParseCommand("params.command", p.Command, jjm.UnitEvent, handlers.Streams(spec)...)
	if problems = append(problems, more...); len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	return handlers.Command{Argv: t.Expand(handlers.PartValues(job, p.SeedOffset))}, nil
}

// cut returns how the events are cut by the settings, with the reasons.
func cut(p params, only []jjm.Span, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	n, why, problems := size(p, site)
	if problems != nil {
		return handlers.Cutting{}, problems
	}
	c, problems := site.Cut(handlers.Cutting{
		Splitter: split.ByEvents,
		Params:   split.Params{EventsPerJob: n},
		Work:     split.Work{First: p.FirstEvent, Events: p.Events, Only: only},
	}, "params.events", fmt.Sprintf("with %s each; ask for fewer events or set events_per_job higher", events(n)))
	if problems != nil {
		return c, problems
	}
	last := p.Events - int64(c.Jobs-1)*n
	switch {
	case only != nil:
		why = append(why, fmt.Sprintf("only %s of %s: %s", jjm.Count(len(only), "range"), events(p.Events),
			jjm.Count(c.Jobs, "local job")))
	case c.Jobs == 1 || last == n:
		why = append(why, events(p.Events)+": "+jjm.Count(c.Jobs, "local job"))
	default:
		why = append(why, fmt.Sprintf("%s: %d local jobs, the last with %s", events(p.Events), c.Jobs, events(last)))
	}
	c.Why = why
	return c, nil
}

// size returns the number of events per local job according to decision R20. If events_per_job is set, the number is
// events_per_job. Otherwise the number is the recommended CPU time divided by the CPU time of an event, or the rule of
// thumb if either time is unknown. The number is limited by the maximum CPU time, and by the events of an output file
// if a phase may write only one file; an events_per_job above these limits is a problem. The number is at least 1.
func size(p params, site handlers.Site) (n int64, why []string, problems jjm.Problems) {
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	recommended, most := fit(site.RecommendedCPU, p.CPUPerEvent), fit(site.MaxCPU, p.CPUPerEvent)
	switch {
	case p.EventsPerJob > 0:
		n = p.EventsPerJob
		say("%s per local job: events_per_job says so", events(n))
	case p.CPUPerEvent == 0:
		n = RuleOfThumb
		say("%s per local job: the rule of thumb, because cpu_per_event is not set", events(n))
	case site.RecommendedCPU == 0:
		n = RuleOfThumb
		say("%s per local job: the rule of thumb, because the site recommends no CPU time per local job "+
			"(engine.recommended_cpu, see docs/JOB-TYPES.md)", events(n))
	default:
		n = max(1, recommended)
		say("%s per local job: the site recommends %g s of CPU per local job, and an event takes %g s", events(n),
			site.RecommendedCPU, p.CPUPerEvent)
	}
	if most >= 0 && n > max(1, most) {
		if p.EventsPerJob > 0 {
			problems = append(problems, jjm.Problem{Field: "params.events_per_job", Text: fmt.Sprintf(
				"%d events of %g s need more than the %g s of CPU that the site allows per local job: at most %d", n, p.CPUPerEvent,
				site.MaxCPU, max(1, most))})
		}
		n = max(1, most)
		say("at most %s per local job: the site allows %g s of CPU per local job", events(n), site.MaxCPU)
	}
	if most == 0 {
		say("an event takes %g s of CPU, more than the %g s that the site allows per local job: such jobs may be stopped",
			p.CPUPerEvent, site.MaxCPU)
	}
	if p.MaxEventsPerOutput > 0 && n > p.MaxEventsPerOutput {
		if p.OutputsPerPhase == outputsMany {
			say("each phase writes several files, because a file holds at most %s", events(p.MaxEventsPerOutput))
			return n, why, problems
		}
		if p.EventsPerJob > 0 {
			problems = append(problems, jjm.Problem{Field: "params.events_per_job", Text: fmt.Sprintf(
				"%d is more than max_events_per_output = %d, and outputs_per_phase = %q: lower it, or set outputs_per_phase = %q",
				n, p.MaxEventsPerOutput, outputsOne, outputsMany)})
		}
		n = p.MaxEventsPerOutput
		say("at most %s per local job: each phase writes one file, which holds at most so many", events(n))
	}
	return n, why, problems
}

// fit returns the number of events that fit into a CPU time; -1 if either time is unknown.
func fit(cpu, perEvent float64) int64 {
	if cpu <= 0 || perEvent <= 0 {
		return -1
	}
	return int64(min(math.Floor(cpu/perEvent), 1<<53))
}

// events returns a number of events with its unit, as text.
func events(n int64) string { return jjm.Count(n, "event") }
