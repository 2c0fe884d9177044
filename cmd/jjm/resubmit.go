package main

import (
	"fmt"

	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// resubmit runs local jobs again.
type resubmit struct {
	All bool `help:"Of whole grid jobs also the local jobs that were killed."`

	keepGoing
	many
}

// Help returns the text of --help below the usage.
func (*resubmit) Help() string {
	return "The same local jobs run again, with the same work, names and seeds, and new limits for retries. The id of " +
		"a grid job means its failed local jobs. A grid job that is over is reopened: its next generation gets a tar " +
		"of its own, and the one before keeps its end, which is all that gatekeepers are told. It prints a line for " +
		"each grid job: ID resubmitted N (and generation G, if one begins), ID no-change (there is nothing to run " +
		"again, which is a success), or ID error KIND TEXT; and below it, which local jobs stay as they are and why. " +
		"A completed local job is retracted first (jjm retract). For the owner and administrators.\n\n" +
		"Filters select failed local jobs, with --all or --job-state also killed ones, among the ids or, without any, among " +
		"all your jobs (an administrator's: all jobs). Above 100 jobs it asks, or wants --yes. With --no-keep-going it " +
		"stops at the first grid job that fails. jjm resubmit --host node7 --age 0-12h --dry-run shows what would run again."
}

// Run carries out the command.
func (r *resubmit) Run(c *cli) error {
	normally := jjm.Failed.String()
	if r.All {
		normally += "," + jjm.Killed.String()
	}
	refs, err := r.choose(c, selection.ToResubmit, normally)
	if err != nil {
		return err
	}
	how, grids, jobs := wire.ResubmitHow{All: r.All, DryRun: r.Dry, Stop: !r.KeepGoing}, 0, 0
	all := results[wire.Resubmitted]{c: c, command: "resubmit", stop: how.Stop,
		ask: func(refs []string) ([]wire.Resubmitted, error) {
			a, err := ask(c, r.place, wire.VerbResubmit(), wire.ResubmitRequest{Refs: refs, ResubmitHow: how})
			return a.Resubmit, err
		},
		outcome: func(one wire.Resubmitted) *wire.Error { return one.Error },
		show: func(one wire.Resubmitted) error {
			grids, jobs = grids+1, jobs+one.Jobs
			if r.JSON {
				return c.printJSON(one)
			}
			_, err := c.out.WriteString(resubmitLines(one, r.Dry))
			return err
		}}
	err = all.of(byGrid(refs))
	if r.Dry && grids > 1 {
		c.say("in all %s would run again", jjm.Count(jobs, "local job"))
	}
	return err
}

func resubmitLines(r wire.Resubmitted, dry bool) string {
	var text string
	switch {
	case r.Error != nil:
		return fmt.Sprintf("%s error %s %s\n", r.ID, r.Error.Kind, printable(r.Error.Text))
	case r.NoChange:
		text = r.ID.String() + " no-change\n"
	case dry:
		text = fmt.Sprintf("%s would resubmit %d%s\n", r.ID, r.Jobs, beginning(r.Generation))
	default:
		text = fmt.Sprintf("%s resubmitted %d%s\n", r.ID, r.Jobs, beginning(r.Generation))
	}
	for _, l := range r.Left {
		text += fmt.Sprintf("  %s stays: %s\n", field(l.Local), printable(l.Why))
	}
	if r.LeftOut > 0 {
		text += fmt.Sprintf("  and %s more\n", jjm.Count(r.LeftOut, "local job"))
	}
	return text
}

// beginning names the generation that begins, if one does.
func beginning(generation int) string {
	if generation == 0 {
		return ""
	}
	return fmt.Sprintf(", generation %d", generation)
}
