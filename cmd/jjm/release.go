package main

import (
	"fmt"

	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// release releases held jobs.
type release struct{ many }

// Help returns the text of --help below the usage.
func (*release) Help() string {
	return "A local job that its application put on hold gets its next attempt with the arguments that the application " +
		"asked for. A local job that the batch system holds is released there. The id of a grid job means all its " +
		"held local jobs. It prints one line for each: ID released N, ID no-change (none of them is held, which is " +
		"a success), or ID error KIND TEXT. For the owner and administrators.\n\n" +
		"Filters select held local jobs among the ids or, without any, among all your jobs (an administrator's: all " +
		"jobs). Above 100 jobs it asks, or wants --yes. jjm release --reason '*disk*' --dry-run shows what would be " +
		"released."
}

// Run carries out the command.
func (r *release) Run(c *cli) error {
	refs, err := r.choose(c, selection.ToRelease, "")
	if err != nil {
		return err
	}
	jobs := 0
	all := results[wire.Released]{c: c, command: "release",
		ask: func(refs []string) ([]wire.Released, error) {
			a, err := ask(c, r.place, wire.VerbRelease(), wire.ReleaseRequest{Many: wire.Refs(refs...), DryRun: r.Dry})
			return a.Release, err
		},
		outcome: func(one wire.Released) *wire.Error { return one.Error },
		show: func(one wire.Released) error {
			jobs += one.Jobs
			if r.JSON {
				return c.printJSON(one)
			}
			_, err := fmt.Fprintln(c.out, releaseLine(one, r.Dry))
			return err
		}}
	err = all.of(inChunks(refs))
	if r.Dry && len(refs) > 1 {
		c.say("in all %s would be released", jjm.Count(jobs, "local job"))
	}
	return err
}

func releaseLine(r wire.Released, dry bool) string {
	switch {
	case r.Error != nil:
		return fmt.Sprintf("%s error %s %s", field(r.Ref), r.Error.Kind, printable(r.Error.Text))
	case r.NoChange:
		return field(r.Ref) + " no-change"
	case dry:
		return fmt.Sprintf("%s would be released: %s", field(r.Ref), jjm.Count(r.Jobs, "local job"))
	}
	return fmt.Sprintf("%s released %d", field(r.Ref), r.Jobs)
}
