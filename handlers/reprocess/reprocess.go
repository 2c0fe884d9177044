// Package reprocess is the job type that runs a command on the files of a dataset (JIM, section on job managers:
// reprocessing). The job file's "split" defines how the files are cut; by default each local job gets one whole file.
package reprocess

import (
	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

type params struct {
	Command    []string `json:"command" required:"true" help:"the words of the command; may hold {files} {file} {first_event} {events} {last_event} {first_number} {lumis} {parents} {serial} {seed} {job}"`
	SeedOffset int64    `json:"seed_offset" default:"0" min:"0" max:"9007199244740992" help:"added to the serial of a local job to make {seed}"`
}

const example = `type = "reprocess"

[split]
by = "FileBased"
params = { files_per_job = 2 }

[[datasets]]
name = "raw"
files = [{ lfn = "/data/1" }, { lfn = "/data/2" }, { lfn = "/data/3" }]

[params]
command = ["reco.sh", "{files}"]
`

// New returns the job type "reprocess".
func New() handlers.Handler {
	return handlers.Form[handlers.Commanded[params]]{
		Name: "reprocess",
		About: handlers.Description{
			Summary: "run a command over the files of a dataset, cut by any splitter",
			Result:  jjm.ResultGLF, Reads: true, Params: handlers.ParamsOf(params{}), Example: example,
		},
		Read: handlers.ReadCommand(jjm.UnitFile, func(p params) []string { return p.Command }),
		Cut: func(s handlers.Commanded[params], spec *jjm.Spec, site handlers.Site) (handlers.Cutting, jjm.Problems) {
			return site.CutFiles(spec, split.FileBased, handlers.Lines{Command: s.Command},
				func(p *split.Params) { p.FilesPerJob = 1 })
		},
		Line: func(s handlers.Commanded[params], job *jjm.LocalJob) handlers.Command {
			return handlers.Command{Argv: s.Command.Expand(handlers.PartValues(job, s.Params.SeedOffset))}
		},
	}
}
