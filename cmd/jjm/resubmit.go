package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// resubmit runs local jobs again.
type resubmit struct {
	All bool `help:"Of whole grid jobs also the local jobs that were killed."`

	requested
	keepGoing
	many

	// words replace the retry arguments of the next attempts; nil keeps these arguments. jjm release --force sets words.
	words []string
}

// Help returns the text of --help below the usage.
func (*resubmit) Help() string {
	return "The same local jobs run again, with the same work, names and seeds, and new limits for retries. The id of " +
		"a grid job means its failed local jobs. A grid job that is over is reopened: its next generation gets a " +
		"tar of its own. The previous generation keeps its end; gatekeepers see only the end of the first " +
		"generation. It prints a line for each grid job: ID resubmitted N (and generation G, if one begins), ID " +
		"no-change (there is nothing to run again, which is a success), or ID error KIND TEXT; and below it, which " +
		"local jobs stay as they are and why. They run the files that were packed at the submission. " +
		"If an input changed since, the answer names it. Inputs that it did not compare are named with the reason: URLs, " +
		"files that the owner cannot read now, and what exceeds 64 MiB, or 10000 files in folders. To run changed files, copy the grid job (jjm copy 17), submit anew, or submit only what is " +
		"missing (jjm verify 17 --recovery FILE). To run a completed local job again, retract it first (jjm retract). " +
		"For the owner and administrators.\n\n" +
		"With --memory, --walltime, --queue and --to-cluster these local jobs, and no others of the grid job, " +
		"request something else in this and all later attempts; values and limits are those of a job file. A value " +
		"that is not set stays as it was. jjm resubmit 17 --walltime 12h --dry-run shows what would be requested.\n\n" +
		"Filters select failed local jobs, with --all or --job-state also killed ones, among the ids or, without " +
		"any, among all your jobs (an administrator's: all jobs). Above 100 jobs it asks, or wants --yes. On a terminal " +
		"it also asks before it reopens a grid job that is over, unless --yes is set. With " +
		"--no-keep-going it stops at the first grid job that fails. jjm resubmit --host node7 --age 0-12h --dry-run " +
		"shows what would run again."
}

// Run carries out jjm resubmit.
func (r *resubmit) Run(c *cli) error {
	asked, err := r.resources()
	if err != nil {
		return err
	}
	normally := jjm.Failed.String()
	if r.All {
		normally += "," + jjm.Killed.String()
	}
	refs, err := r.choose(c, selection.ToResubmit, normally)
	if err != nil {
		return err
	}
	how, grids, jobs := wire.ResubmitHow{All: r.All, DryRun: r.Dry, Stop: !r.KeepGoing,
		Resources: asked, Args: r.words}, 0, 0
	all := results[wire.Resubmitted]{c: c, command: "resubmit", stop: how.Stop,
		ask: func(refs []string) ([]wire.Resubmitted, error) {
			a, err := ask(c, r.place, wire.VerbResubmit(),
				wire.ResubmitRequest{Many: wire.Refs(refs...), ResubmitHow: how})
			for i := range a.Resubmit {
				nameFlags(a.Resubmit[i].Error)
			}
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
	if err := r.confirmReopening(c, refs, how); err != nil {
		return err
	}
	err = all.of(byGrid(refs))
	if r.Dry && grids > 1 {
		c.say("in all %s would run again", jjm.Count(jobs, "local job"))
	}
	return err
}

// confirmReopening asks a person, who has a terminal, to confirm that grid jobs that are over are reopened. Their ends
// and outputs may be delivered already, and cannot be taken back. It asks nobody with --yes or --dry-run.
func (r *resubmit) confirmReopening(c *cli, refs []string, how wire.ResubmitHow) error {
	in := c.person()
	if in == nil || r.Yes || r.Dry {
		return nil
	}
	how.DryRun = true
	var over []wire.Resubmitted
	for _, chunk := range byGrid(refs) {
		a, err := ask(c, r.place, wire.VerbResubmit(), wire.ResubmitRequest{Many: wire.Refs(chunk...), ResubmitHow: how})
		if err != nil {
			return err
		}
		for _, one := range a.Resubmit {
			if one.Error == nil && !one.NoChange && one.Generation > 0 {
				over = append(over, one)
			}
		}
	}
	switch len(over) {
	case 0:
		return nil
	case 1:
		return c.askPerson(in, fmt.Sprintf("grid job %s is over, and its end and outputs may be delivered already: reopen "+
			"it as generation %d", over[0].ID, over[0].Generation))
	}
	return c.askPerson(in, fmt.Sprintf("%d grid jobs, such as %s, are over, and their ends and outputs may be delivered "+
		"already: reopen them", len(over), over[0].ID))
}

func resubmitLines(r wire.Resubmitted, dry bool) string {
	did := fmt.Sprintf("resubmitted %d", r.Jobs)
	if dry {
		did = fmt.Sprintf("would resubmit %d", r.Jobs)
	}
	return gridLines(r.ID, r.Error, r.NoChange, did+beginning(r.Generation)+asking(r.Resources),
		noteLines(r.Notes), changedLines(r), uncomparedLines(r.NotCompared), leftLines(r.Left, r.LeftOut))
}

// changedLines returns the lines about inputs that changed since they were packed, "" if none is known to have changed.
func changedLines(r wire.Resubmitted) string {
	if len(r.Changed) == 0 {
		return ""
	}
	text := ""
	for _, path := range r.Changed {
		text += "  " + plain.Printable(path) + " changed since the submission\n"
	}
	return text + fmt.Sprintf("  resubmitted jobs run the files packed at the submission; to run the changed ones:\n"+
		"  jjm verify %s --recovery FILE, once it is over (jjm kill %[1]s ends it), for what is not done, "+
		"or jjm copy %[1]s for all of it\n", r.ID)
}

// mostUncompared is the greatest number of inputs that are named as not compared.
const mostUncompared = 20

// uncomparedLines returns the lines about inputs that were not compared with the packed ones.
func uncomparedLines(not []wire.Uncompared) (text string) {
	for _, u := range not[:min(len(not), mostUncompared)] {
		text += "  " + plain.Printable(u.Path) + " not compared: " + plain.Printable(u.Why) + "\n"
	}
	if more := len(not) - mostUncompared; more > 0 {
		text += "  " + jjm.Count(more, "further input") + " not compared\n"
	}
	return text
}

// beginning returns ", generation N" for the generation that begins, or "" if generation is 0 because none begins.
func beginning(generation int) string {
	if generation == 0 {
		return ""
	}
	return fmt.Sprintf(", generation %d", generation)
}

// asking returns " with" and the resources that a request contained, or "" if r is nil.
func asking(r *jjm.Resources) string {
	if r == nil {
		return ""
	}
	return " with " + plain.Printable(r.String())
}
