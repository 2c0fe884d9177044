// Package reprocess is the job type that runs a command over the files of a
// dataset (JIM, section on job managers: reprocessing). The job file's "split"
// says how the files are cut; whole files, one a local job, where it says nothing.
package reprocess

import (
	"jjm"
	"jjm/handlers"
	"jjm/split"
)

// Handler is the job type "reprocess". The zero value serves.
type Handler struct{}

var _ handlers.Handler = Handler{}

type params struct {
	Command    []string `json:"command" required:"true" help:"the words of the command; may hold {files} {file} {first_event} {events} {last_event} {lumis} {parents} {serial} {seed} {job}"`
	SeedOffset int64    `json:"seed_offset" default:"0" min:"0" max:"9007199244740992" help:"added to the serial of a local job to make {seed}"`
}

// Type is the word in job files.
func (Handler) Type() string { return "reprocess" }

// Describe documents the type.
func (Handler) Describe() handlers.Description {
	return handlers.Description{
		Summary: "run a command over the files of a dataset, cut by any splitter",
		Result:  jjm.ResultGLF,
		Reads:   true,
		Params:  handlers.ParamsOf(params{}),
		Example: `type = "reprocess"

[split]
by = "FileBased"
params = { files_per_job = 2 }

[[datasets]]
name = "raw"
files = [{ lfn = "/data/1" }, { lfn = "/data/2" }, { lfn = "/data/3" }]

[params]
command = ["reco.sh", "{files}"]
`,
	}
}

// Check finds the mistakes in the settings.
func (Handler) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	_, _, problems := decode(spec)
	_, more := cut(spec, site)
	return append(problems, more...)
}

// Split names the splitter.
func (Handler) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	c, problems := cut(spec, site)
	return c, problems.Err()
}

// Command gives the command line for the files of one part.
func (Handler) Command(spec *jjm.Spec, job *jjm.LocalJob) (handlers.Command, error) {
	p, command, problems := decode(spec)
	if len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	return handlers.Command{Argv: command.Expand(handlers.PartValues(job, p.SeedOffset))}, nil
}

func decode(spec *jjm.Spec) (p params, command handlers.CommandTemplate, problems jjm.Problems) {
	problems = handlers.DecodeParams(spec.Params, &p)
	command, more := handlers.ParseCommand("params.command", p.Command, jjm.UnitFile)
	return p, command, append(problems, more...)
}

func cut(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	return site.CutFiles(spec, split.FileBased, func(p *split.Params) { p.FilesPerJob = 1 })
}
