// Package passthrough is the job type for runners that own the workflow
// themselves: one local job, whose words are passed on as they are (JIM, section
// on job managers).
package passthrough

import (
	"jjm"
	"jjm/handlers"
	"jjm/split"
)

// Handler is the job type "passthrough". The zero value serves.
type Handler struct{}

var _ handlers.Handler = Handler{}

type params struct {
	Command []string `json:"command" required:"true" help:"the words of the command, passed on as they are: braces mean nothing"`
}

// Type is the word in job files.
func (Handler) Type() string { return "passthrough" }

// Describe documents the type.
func (Handler) Describe() handlers.Description {
	return handlers.Description{
		Summary: "hand everything to a runner that owns the workflow: one local job, its words as they are",
		Result:  jjm.ResultExit,
		Params:  handlers.ParamsOf(params{}),
		Example: `type = "passthrough"

[params]
command = ["runner", "--workflow", "{chain.xml}"]
`,
	}
}

// Check finds the mistakes in the settings.
func (Handler) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	_, problems := decode(spec)
	_, more := cut(spec, site)
	return append(problems, more...)
}

// Split makes one local job.
func (Handler) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	c, problems := cut(spec, site)
	return c, problems.Err()
}

// Command gives the words.
func (Handler) Command(spec *jjm.Spec, _ *jjm.LocalJob) (handlers.Command, error) {
	p, problems := decode(spec)
	return handlers.Command{Argv: p.Command}, problems.Err()
}

func decode(spec *jjm.Spec) (p params, problems jjm.Problems) {
	problems = handlers.DecodeParams(spec.Params, &p)
	if len(problems) == 0 && p.Command[0] == "" {
		problems = jjm.Problems{{Field: "params.command[0]", Text: "is empty: the first word names the program"}}
	}
	return p, problems
}

func cut(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	return site.Cut(handlers.Cutting{Splitter: split.ByRows, Work: split.Work{Rows: make([][]string, 1), Only: spec.Only},
		Why: []string{"one local job: the runner owns the workflow"}}, "params.command", "")
}
