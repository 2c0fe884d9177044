package main

import (
	"fmt"
	"strings"

	"jjm/wire"
)

// jobTypes are the commands about job types.
type jobTypes struct {
	Show   showJobTypes `cmd:"" default:"withargs" help:"Those of this site; of one, its settings and an example." example:"jjm job-types montecarlo"`
	New    newJobType   `cmd:"" passthrough:"" help:"Write the files of a new one." example:"jjm job-types new zmumu"`
	Test   testJobType  `cmd:"" passthrough:"" help:"Hold one against what every type must do." example:"jjm job-types test zmumu.toml"`
	Replay replayJob    `cmd:"" help:"Ask the type of a grid job anew: is all as it was stored?" example:"jjm job-types replay 17"`
}

// newJobType writes one: the daemon's program has them.
type newJobType struct {
	Args []string `arg:"" optional:"" name:"NAME"`
}

// Run hands the arguments on.
func (n *newJobType) Run() error {
	return becomeDaemon("job-types", append([]string{"new"}, n.Args...))
}

// testJobType tests one.
type testJobType struct {
	Args []string `arg:"" optional:"" name:"TYPE"`
}

// Run hands the arguments on.
func (t *testJobType) Run() error {
	return becomeDaemon("job-types", append([]string{"test"}, t.Args...))
}

// showJobTypes documents the job types of the site.
type showJobTypes struct {
	JSON bool   `name:"json" help:"One JSON object per line."`
	Type string `arg:"" optional:"" name:"TYPE" help:"Tell its settings and an example."`

	place
}

// Run implements the command.
func (j *showJobTypes) Run(c *cli) error {
	a, err := ask(c, j.place, wire.VerbJobTypes(), wire.JobTypesRequest{})
	if err != nil {
		return err
	}
	types := a.JobTypes
	if j.Type != "" {
		var names []string
		types = nil
		for _, t := range a.JobTypes {
			names = append(names, t.Type)
			if t.Type == j.Type {
				types = []wire.JobType{t}
			}
		}
		if types == nil {
			return usage("unknown job type %.40q: this site knows %s", j.Type, strings.Join(names, ", "))
		}
	}
	if j.JSON {
		for _, t := range types {
			if err := c.printJSON(t); err != nil {
				return err
			}
		}
		return nil
	}
	if j.Type != "" {
		return c.printJobType(types[0])
	}
	rows := [][]string{{"TYPE", "REPORTS BY", "SUMMARY"}}
	for _, t := range types {
		rows = append(rows, []string{t.Type, t.Result, t.Summary})
	}
	return c.table(rows)
}

func (c *cli) printJobType(t wire.JobType) error {
	_, _ = fmt.Fprintf(c.out, "%s: %s (reports by %s)\n", printable(t.Type), printable(t.Summary), printable(t.Result))
	if len(t.Params) > 0 {
		_, _ = fmt.Fprintln(c.out, "\nSettings under [params]:")
		rows := [][]string{{"  NAME", "TYPE", "UNIT", "DEFAULT", "MEANING"}}
		for _, p := range t.Params {
			def := p.Default
			if p.Required {
				def = "(required)"
			}
			rows = append(rows, []string{"  " + p.Name, p.Type, p.Unit, def, p.Help})
		}
		if err := c.table(rows); err != nil {
			return err
		}
	}
	if t.Example == "" {
		return nil
	}
	_, err := fmt.Fprintf(c.out, "\nExample:\n\n%s\n", printableLines(strings.TrimRight(t.Example, "\n")))
	return err
}
