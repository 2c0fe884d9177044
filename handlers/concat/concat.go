// Package concat is the job type that puts the files of a dataset one after
// another, byte by byte, into fewer and larger ones (JIM, job types: file
// concatenation). The job file's "split" says how they are grouped; 50 files a
// local job, which is JEDI's number for merging, where it says nothing.
package concat

import (
	"fmt"

	"jjm"
	"jjm/handlers"
	"jjm/split"
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

// New returns the job type "concat". Its command line is the same for all parts: the
// wrapper tells them by $JJM_INPUT_FILES.
func New() handlers.Handler {
	return handlers.Form[params]{
		Name: "concat",
		About: handlers.Description{
			Summary: "put the files of a dataset one after another, into fewer and larger ones",
			Result:  jjm.ResultExit, Reads: true, Params: handlers.ParamsOf(params{}), Example: example,
		},
		Read: read, Cut: cut,
		Line: func(p params, _ *jjm.LocalJob) handlers.Command {
			return handlers.Command{Argv: handlers.Concat(p.Output), Outputs: []string{p.Output}}
		},
	}
}

func read(spec *jjm.Spec) (p params, problems jjm.Problems) {
	problems = handlers.DecodeParams(spec.Params, &p)
	if len(problems) == 0 && !plainName(p.Output) {
		problems = jjm.Problems{{Field: "params.output", Text: fmt.Sprintf(
			"%.40q: want a file name of 1 to 100 of the characters A-Z a-z 0-9 . _ + - and a letter, digit or _ in front",
			p.Output)}}
	}
	return p, problems
}

// plainName reports whether a file name is neither an option nor a pattern.
func plainName(s string) bool {
	for i, r := range s {
		letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_'
		if !letter && (i == 0 || r != '.' && r != '+' && r != '-') {
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// cut takes only splitters that give whole files: of a piece of one the bytes are
// not known.
func cut(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	if spec.Split != nil {
		if unit, err := split.Unit(spec.Split.By); err == nil && (unit != jjm.UnitFile || spec.Split.By == split.JEDI) {
			return handlers.Cutting{}, jjm.Problems{{Field: "split.by", Text: fmt.Sprintf(
				"%s may cut files into pieces, whose bytes are not known: want a splitter of whole files, such as %s",
				spec.Split.By, split.FileBased)}}
		}
	}
	return site.CutFiles(spec, split.FileBased, func(p *split.Params) { p.FilesPerJob = filesPerJob })
}
