// Package concat is the job type that concatenates the files of a dataset, byte by byte, into fewer and larger files
// (JIM, job types: file concatenation). The job file's "split" defines the groups of files; by default 50 files form a
// local job, which is JEDI's number for merging.
package concat

import (
	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// filesPerJob is JEDI's number of files in one merge.
const filesPerJob = 50

type params struct {
	Output string `json:"output" required:"true" help:"the name of the file that a local job makes; it is collected as <name>.<local job>.<output>"`
}

const example = `type = "concat"

[split]
by = "FileBased"
params = { files_per_job = 2 }

[[datasets]]
name = "small"
files = [{ lfn = "/data/1" }, { lfn = "/data/2" }, { lfn = "/data/3" }]

[params]
output = "large.dat"
`

// New returns the job type "concat". Its command line is the same for all parts, because
// the wrapper names the files in $JJM_INPUT_FILES.
func New() handlers.Handler {
	return handlers.Form[params]{
		Name: "concat",
		About: handlers.Description{
			Summary: "put the files of a dataset one after another, into fewer and larger ones",
			Result:  jjm.ResultExit, Reads: true, Params: handlers.ParamsOf(params{}), Example: example,
		},
		Read: func(spec *jjm.Spec) (p params, problems jjm.Problems) {
			problems = handlers.DecodeParams(spec.Params, &p)
			if len(problems) > 0 {
				return p, problems
			}
			return p, handlers.CheckName("params.output", p.Output)
		},
		Cut: func(_ params, spec *jjm.Spec, site handlers.Site) (handlers.Cutting, jjm.Problems) {
			return site.CutWhole(spec, split.FileBased, func(p *split.Params) { p.FilesPerJob = filesPerJob })
		},
		Line: func(p params, _ *jjm.LocalJob) handlers.Command {
			return handlers.Command{Argv: handlers.Concat(p.Output), Outputs: []string{p.Output}}
		},
	}
}
