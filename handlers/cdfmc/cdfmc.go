// Package cdfmc is the job type for CDF's simulation: a number of sections of equal size. Each section is a local job,
// which receives the section's number (decision R21). Unlike montecarlo, the job file and not the site sets the size.
package cdfmc

import (
	"fmt"
	"strconv"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// params are the settings. Events are numbered from 1 across all sections.
type params struct {
	Command          []string `json:"command" required:"true" help:"the words of the command; may hold {section} {first_event} {events} {last_event} {serial} {seed} {job}"`
	Sections         int64    `json:"sections" required:"true" min:"1" max:"10000000" help:"how many sections"`
	EventsPerSection int64    `json:"events_per_section" required:"true" min:"1" max:"900719925" unit:"events" help:"the size of a section"`
	FirstSection     int64    `json:"first_section" default:"1" min:"0" max:"1000000000" help:"the number of the first section"`
	SeedOffset       int64    `json:"seed_offset" default:"0" min:"0" max:"9007199244740992" help:"added to the serial of a local job to make {seed}"`
}

const example = `type = "cdfmc"
outputs = ["*.out"]

[params]
command = ["cdfsim", "-section", "{section}", "-nev", "{events}", "-seed", "{seed}"]
sections = 20
events_per_section = 500
`

type settings = handlers.Commanded[params]

// New returns the job type "cdfmc".
func New() handlers.Handler {
	return handlers.Form[settings]{
		Name: "cdfmc",
		About: handlers.Description{Summary: "simulate a number of numbered sections of equal size, one local job each",
			Result: jjm.ResultGLF, Along: true, Params: handlers.ParamsOf(params{}), Example: example},
		Read: handlers.ReadCommand(jjm.UnitEvent, func(p params) []string { return p.Command }, "{section}"),
		Cut: func(s settings, spec *jjm.Spec, site handlers.Site) (handlers.Cutting, jjm.Problems) {
			p := s.Params
			cut, problems := site.Cut(handlers.Cutting{Splitter: split.ByEvents,
				Params: split.Params{EventsPerJob: p.EventsPerSection},
				Work:   split.Work{First: 1, Events: p.Sections * p.EventsPerSection, Only: spec.Only},
				Why: []string{fmt.Sprintf("%s of %s from section %d on", jjm.Count(p.Sections, "section"),
					jjm.Count(p.EventsPerSection, "event"), p.FirstSection)}}, "params.sections", "ask for fewer sections")
			return cut, append(handlers.CheckSections(spec.Only, p.EventsPerSection), problems...)
		},
		// The number of a section is computed from its events, so a recovery gets the same number.
		Line: func(s settings, job *jjm.LocalJob) handlers.Command {
			v := handlers.PartValues(job, s.Params.SeedOffset)
			v["section"] = []string{strconv.FormatInt(s.Params.FirstSection+(job.Part.First-1)/s.Params.EventsPerSection, 10)}
			return handlers.Command{Argv: s.Command.Expand(v)}
		},
	}
}
