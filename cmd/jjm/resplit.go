package main

import (
	"fmt"

	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// resplit cuts the work of failed and killed local jobs again.
type resplit struct {
	Into   int64 `placeholder:"N" help:"Cut the work of each into N new local jobs. The default is 2."`
	Events int64 `name:"events-per-job" placeholder:"N" help:"Each new local job has at most N events of a file."`
	Files  int64 `name:"files-per-job" placeholder:"N" help:"Each new local job has at most N files."`
	Lumis  int64 `name:"lumis-per-job" placeholder:"N" help:"Each new local job has at most N luminosity sections."`

	keepGoing
	many
}

// Help returns the text of --help below the usage.
func (*resplit) Help() string {
	return "The work of failed local jobs is cut again, into smaller local jobs with new ids, names and numbers. The " +
		"id of a grid job means its failed local jobs; killed ones are cut if they are named. They end permanently as " +
		"failed/given-back or killed/given-back: what is known of their attempts stays, and they can no longer be run " +
		"again. The new local jobs request the same resources. A grid job that is over is reopened, as by jjm " +
		"resubmit: its next generation gets a tar of its own.\n\n" +
		"The work must be files, events of files, or luminosity sections. Generated events and rows cannot be cut " +
		"again, nor what belongs to a part as a whole: random seeds, files of secondary datasets, ancestors. Grid jobs " +
		"that merge are refused. docs/OPERATIONS.md has the whole list.\n\n" +
		"It prints a line for each grid job: ID resplit N into M (and generation G, if one begins), ID no-change (" +
		"nothing failed, which is a success), or ID error KIND TEXT; and below it, which local jobs stay as they are " +
		"and why. For the owner and administrators.\n\n" +
		"Filters select failed local jobs, with --job-state also killed ones, among the ids or, without any, among all " +
		"your jobs (an administrator's: all jobs). Above 100 jobs it asks, or wants --yes."
}

// Run carries out jjm resplit.
func (r *resplit) Run(c *cli) error {
	how := wire.ResplitHow{Into: r.Into, EventsPerJob: r.Events, FilesPerJob: r.Files, LumisPerJob: r.Lumis,
		DryRun: r.Dry, Stop: !r.KeepGoing}
	if err := r.checkSizes(how); err != nil {
		return err
	}
	refs, err := r.choose(c, selection.ToResplit, jjm.Failed.String())
	if err != nil {
		return err
	}
	all := results[wire.Resplit]{c: c, command: "resplit", stop: how.Stop,
		ask: func(refs []string) ([]wire.Resplit, error) {
			a, err := ask(c, r.place, wire.VerbResplit(),
				wire.ResplitRequest{Many: wire.Refs(refs...), ResplitHow: how})
			return a.Resplit, err
		},
		outcome: func(one wire.Resplit) *wire.Error { return one.Error },
		show: func(one wire.Resplit) error {
			if r.JSON {
				return c.printJSON(one)
			}
			_, err := c.out.WriteString(resplitLines(one, r.Dry))
			return err
		}}
	return all.of(byGrid(refs))
}

// checkSizes returns a usage error for sizes that the daemon would refuse.
func (r *resplit) checkSizes(how wire.ResplitHow) error {
	set := 0
	for _, size := range []int64{r.Into, r.Events, r.Files, r.Lumis} {
		if size != 0 {
			set++
		}
	}
	if set > 1 {
		return usage("want one of --into, --events-per-job, --files-per-job and --lumis-per-job")
	}
	if how.Check() != nil {
		return usage("want --into of at least 2, or a size of at least 1")
	}
	return nil
}

func resplitLines(r wire.Resplit, dry bool) string {
	did := fmt.Sprintf("resplit %d into %d", r.Jobs, r.Parts) + beginning(r.Generation)
	if dry {
		did = "would " + did
	}
	return gridLines(r.ID, r.Error, r.NoChange, did, noteLines(r.Notes), leftLines(r.Left, r.LeftOut))
}
