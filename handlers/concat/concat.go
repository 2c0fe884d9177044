// Package concat is the job type that puts the files of a dataset one after
// another, byte by byte, into fewer and larger ones (JIM, job types: file
// concatenation). The job file's "split" says how they are grouped; 50 files a
// local job, which is JEDI's number for merging, where it says nothing.
package concat

import (
	"fmt"
	"regexp"

	"jjm"
	"jjm/handlers"
	"jjm/split"
)

// Handler is the job type "concat". The zero value serves.
type Handler struct{}

var _ handlers.Handler = Handler{}

// filesPerJob is JEDI's number of files in one merge.
const filesPerJob = 50

type params struct {
	Output string `json:"output" required:"true" help:"the name of the file that a local job makes; it is collected as <name>.<local job>.<output>"`
}

// Type is the word in job files.
func (Handler) Type() string { return "concat" }

// Describe documents the type.
func (Handler) Describe() handlers.Description {
	return handlers.Description{
		Summary: "put the files of a dataset one after another, into fewer and larger ones",
		Result:  jjm.ResultExit,
		Reads:   true,
		Params:  handlers.ParamsOf(params{}),
		Example: `type = "concat"

[split]
by = "FileBased"
params = { files_per_job = 2 }

[[datasets]]
name = "small"
files = [{ lfn = "/data/1" }, { lfn = "/data/2" }, { lfn = "/data/3" }]

[params]
output = "large.dat"
`,
	}
}

// Check finds the mistakes in the settings.
func (Handler) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	_, problems := decode(spec)
	_, more := cut(spec, site)
	return append(problems, more...)
}

// Split names the splitter.
func (Handler) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	c, problems := cut(spec, site)
	return c, problems.Err()
}

// Command gives the command line, which is the same for all parts: the wrapper
// tells them by $JJM_INPUT_FILES.
func (Handler) Command(spec *jjm.Spec, _ *jjm.LocalJob) (handlers.Command, error) {
	p, problems := decode(spec)
	if len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	return handlers.Command{Argv: handlers.Concat(p.Output), Outputs: []string{p.Output}}, nil
}

// plainName is the form of a file name that is neither an option nor a pattern.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}$`)

func decode(spec *jjm.Spec) (p params, problems jjm.Problems) {
	problems = handlers.DecodeParams(spec.Params, &p)
	if len(problems) == 0 && !plainName.MatchString(p.Output) {
		problems = jjm.Problems{{Field: "params.output", Text: fmt.Sprintf(
			"%.40q: want a file name of 1 to 100 of the characters A-Z a-z 0-9 . _ + - and a letter, digit or _ in front", p.Output)}}
	}
	return p, problems
}

// cut takes only splitters that give whole files: of a piece of one the bytes are
// not known.
func cut(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	if spec.Split != nil {
		if unit, err := split.Unit(spec.Split.By); err == nil && (unit != jjm.UnitFile || spec.Split.By == split.JEDI) {
			return handlers.Cutting{}, jjm.Problems{{Field: "split.by", Text: fmt.Sprintf(
				"%s may cut files into pieces, whose bytes are not known: want a splitter of whole files, such as %s", spec.Split.By, split.FileBased)}}
		}
	}
	return site.CutFiles(spec, split.FileBased, func(p *split.Params) { p.FilesPerJob = filesPerJob })
}
