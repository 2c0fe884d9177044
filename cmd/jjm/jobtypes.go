package main

import (
	"fmt"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// jobTypes are the commands about job types.
type jobTypes struct {
	Show   showJobTypes `cmd:"" default:"withargs" help:"The job types of this site; or one, with its settings and an example." example:"jjm job-types montecarlo"`
	New    newJobType   `cmd:"" passthrough:"" help:"Write the files of a new job type." example:"jjm job-types new zmumu"`
	Test   testJobType  `cmd:"" passthrough:"" help:"Test what every job type must do." example:"jjm job-types test zmumu.toml"`
	Replay replayJob    `cmd:"" help:"Run the type of a grid job again and compare its answers." example:"jjm job-types replay 17"`
}

// newJobType writes the files of a new job type. It runs the daemon's program, which contains the templates of these
// files.
type newJobType struct {
	Args []string `arg:"" optional:"" name:"NAME" takes:"name"`
}

// Run passes the arguments to the daemon's program.
func (n *newJobType) Run() error {
	return becomeDaemon("job-types", append([]string{"new"}, n.Args...))
}

// testJobType tests a job type.
type testJobType struct {
	Args []string `arg:"" optional:"" name:"TYPE" takes:"type-or-job..."`
}

// Run passes the arguments to the daemon's program.
func (t *testJobType) Run() error {
	return becomeDaemon("job-types", append([]string{"test"}, t.Args...))
}

// showJobTypes documents the job types of the site.
type showJobTypes struct {
	JSON bool   `name:"json" help:"One JSON object per line."`
	Type string `arg:"" optional:"" name:"TYPE" help:"Show its settings and an example."`

	place
}

// Run carries out jjm job-types show.
func (j *showJobTypes) Run(c *cli) error {
	a, err := ask(c, j.place, wire.VerbJobTypes(), wire.JobTypesRequest{})
	if err != nil {
		return err
	}
	types, err := typesOf(a.JobTypes, j.Type)
	if err != nil {
		return err
	}
	if j.JSON {
		for _, t := range types {
			if err := c.printJSON(t); err != nil {
				return err
			}
		}
		return nil
	}
	if j.Type == "" {
		return c.jobTypeTable(types)
	}
	for _, t := range types {
		if err := c.printJobType(t); err != nil {
			return err
		}
	}
	return nil
}

// typesOf returns the job types with a name, or all if name is "". There may be several: if two files declare the same
// type, the entry of the second has the name of its file.
func typesOf(all []wire.JobType, name string) (types []wire.JobType, err error) {
	if name == "" {
		return all, nil
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Type)
		if t.Type == name {
			types = append(types, t)
		}
	}
	if types == nil {
		return nil, usage("unknown job type %.40q: this site knows %s, as read when the daemon started", name,
			strings.Join(names, ", "))
	}
	return types, nil
}

func (c *cli) jobTypeTable(types []wire.JobType) error {
	rows := [][]string{{"TYPE", "REPORTS BY", "SUMMARY"}}
	for _, t := range types {
		rows = append(rows, []string{plain.Printable(t.Type), orDash(t.Result), plain.Printable(t.Summary)})
	}
	return c.manual(rows)
}

// printOff prints the mistakes of a type that is off.
func (c *cli) printOff(t wire.JobType) error {
	lines := []string{t.Type + ": off, for " + jjm.Count(len(t.Problems), "mistake")}
	for _, p := range t.Problems {
		lines = append(lines, "  "+p)
	}
	lines = append(lines, "Remedy, for the site's administrator: "+t.Remedy)
	for _, line := range lines {
		if _, err := fmt.Fprintln(c.out, plain.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) printJobType(t wire.JobType) error {
	if t.Off {
		return c.printOff(t)
	}
	_, _ = fmt.Fprintf(c.out, "%s: %s (reports by %s)\n", plain.Printable(t.Type), plain.Printable(t.Summary),
		plain.Printable(t.Result))
	if t.Cut != "" {
		_, _ = fmt.Fprintf(c.out, "\nFiles are cut by %s; a job file changes that below [split].\n", plain.Printable(t.Cut))
	}
	if len(t.Params) > 0 {
		_, _ = fmt.Fprintln(c.out, "\nSettings under [params]:")
		rows := [][]string{{"  NAME", "TYPE", "UNIT", "DEFAULT", "MEANING"}}
		for _, p := range t.Params {
			def := p.Default
			if p.Required {
				def = "(required)"
			}
			rows = append(rows, []string{"  " + plain.Printable(p.Name), plain.Printable(p.Type), orDash(p.Unit), orDash(def),
				plain.Printable(p.Help)})
		}
		if err := c.manual(rows); err != nil {
			return err
		}
	}
	if t.Example == "" {
		return nil
	}
	_, err := fmt.Fprintf(c.out, "\nExample:\n\n%s\n", plain.PrintableLines(strings.TrimRight(t.Example, "\n")))
	return err
}
