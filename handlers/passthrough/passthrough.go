// Package passthrough is the job type for runners that manage the workflow themselves: one local job, whose words are
// passed unchanged (JIM, section on job managers).
package passthrough

import (
	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

type params struct {
	Command []string `json:"command" required:"true" help:"the words of the command, passed on as they are: braces mean nothing"`
}

const example = `type = "passthrough"

[params]
command = ["runner", "--workflow", "{chain.xml}"]
`

// New returns the job type "passthrough".
func New() handlers.Handler {
	return handlers.Form[params]{
		Name: "passthrough",
		About: handlers.Description{
			Summary: "hand everything to a runner that owns the workflow: one local job, its words as they are",
			Result:  jjm.ResultExit, Params: handlers.ParamsOf(params{}), Example: example,
		},
		Read: read, Cut: cut,
		Line: func(p params, _ *jjm.LocalJob) handlers.Command { return handlers.Command{Argv: p.Command} },
	}
}

// read parses the settings.
func read(spec *jjm.Spec) (p params, problems jjm.Problems) {
	problems = handlers.DecodeParams(spec.Params, &p)
	if len(problems) == 0 && p.Command[0] == "" {
		problems = jjm.Problems{{Field: "params.command[0]", Text: "is empty: the first word names the program"}}
	}
	return p, problems
}

// cut returns a cutting with one local job.
func cut(_ params, spec *jjm.Spec, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	return site.Cut(handlers.Cutting{Splitter: split.ByRows, Work: split.Work{Rows: make([][]string, 1), Only: spec.Only},
		Why: []string{"one local job: the runner owns the workflow"}}, "params.command", "")
}
