// Package cdfmc is the job type for CDF's simulation: a number of sections of
// equal size, each a local job that knows its section by number (decision R21: a
// thin variant of montecarlo; there the site chooses the size).
package cdfmc

import (
	"fmt"
	"strconv"

	"jjm"
	"jjm/handlers"
	"jjm/split"
)

// Handler is the job type "cdfmc". The zero value serves.
type Handler struct{}

var _ handlers.Handler = Handler{}

// params are the settings. Events are numbered from 1 through all sections.
type params struct {
	Command          []string `json:"command" required:"true" help:"the words of the command; may hold {section} {first_event} {events} {last_event} {serial} {seed} {job}"`
	Sections         int64    `json:"sections" required:"true" min:"1" max:"10000000" help:"how many sections"`
	EventsPerSection int64    `json:"events_per_section" required:"true" min:"1" max:"900719925" unit:"events" help:"the size of a section"`
	FirstSection     int64    `json:"first_section" default:"1" min:"0" max:"1000000000" help:"the number of the first section"`
	SeedOffset       int64    `json:"seed_offset" default:"0" min:"0" max:"9007199244740992" help:"added to the serial of a local job to make {seed}"`
}

// Type is the word in job files.
func (Handler) Type() string { return "cdfmc" }

// Describe documents the type.
func (Handler) Describe() handlers.Description {
	return handlers.Description{
		Summary: "simulate a number of numbered sections of equal size, one local job each",
		Result:  jjm.ResultGLF,
		Along:   true,
		Params:  handlers.ParamsOf(params{}),
		Example: `type = "cdfmc"
outputs = ["*.out"]

[params]
command = ["cdfsim", "-section", "{section}", "-nev", "{events}", "-seed", "{seed}"]
sections = 20
events_per_section = 500
`,
	}
}

// Check finds the mistakes in the settings.
func (Handler) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	p, _, problems := decode(spec)
	if len(problems) > 0 {
		return problems
	}
	_, problems = cut(p, spec.Only, site)
	return problems
}

// Split makes the sections.
func (Handler) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	p, _, problems := decode(spec)
	if len(problems) > 0 {
		return handlers.Cutting{}, problems.Err()
	}
	c, problems := cut(p, spec.Only, site)
	return c, problems.Err()
}

// Command returns the command line of a section. Its number follows from its
// events, so that a recovery has the sections of the grid job that it is for.
func (Handler) Command(spec *jjm.Spec, job *jjm.LocalJob) (handlers.Command, error) {
	p, command, problems := decode(spec)
	if len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	v := handlers.PartValues(job, p.SeedOffset)
	v["section"] = []string{strconv.FormatInt(p.FirstSection+(job.Part.First-1)/p.EventsPerSection, 10)}
	return handlers.Command{Argv: command.Expand(v)}, nil
}

func decode(spec *jjm.Spec) (p params, command handlers.CommandTemplate, problems jjm.Problems) {
	problems = handlers.DecodeParams(spec.Params, &p)
	command, more := handlers.ParseCommand("params.command", p.Command, jjm.UnitEvent,
		append(handlers.Streams(spec), "{section}")...)
	return p, command, append(problems, more...)
}

func cut(p params, only []jjm.Span, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	for i, s := range only {
		if (s.First-1)%p.EventsPerSection != 0 {
			return handlers.Cutting{}, jjm.Problems{{Field: fmt.Sprintf("only[%d]", i),
				Text: fmt.Sprintf("begins with event %d, in the middle of a section of %d events", s.First, p.EventsPerSection)}}
		}
	}
	return site.Cut(handlers.Cutting{
		Splitter: split.ByEvents,
		Params:   split.Params{EventsPerJob: p.EventsPerSection},
		Work:     split.Work{First: 1, Events: p.Sections * p.EventsPerSection, Only: only},
		Why: []string{fmt.Sprintf("%d sections of %d events from section %d on", p.Sections, p.EventsPerSection,
			p.FirstSection)},
	}, "params.sections", "ask for fewer sections")
}
