package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// forceState forces local jobs to failed or completed.
type forceState struct {
	Force bool     `help:"Do not wait until the batch system has ended submitted and running jobs."`
	Why   string   `placeholder:"TEXT" help:"Why, for the history."`
	Dry   bool     `name:"dry-run" help:"Change nothing; show and count what would be done."`
	Yes   bool     `help:"Do not ask, however many jobs are selected."`
	JSON  bool     `name:"json" help:"One JSON object per line."`
	Words []string `arg:"" name:"ID... STATE" help:"Grid jobs or local jobs, then completed or failed."`

	filters
	place
}

// Help returns the text of --help below the usage.
func (*forceState) Help() string {
	return "It sets the state of local jobs, whatever the evidence says. A local job that is forced to completed proves " +
		"nothing: its work counts as missing in jjm verify, and its grid job ends as finished, never as done. One that " +
		"is forced to failed does not run again by itself; jjm resubmit runs it again.\n\n" +
		"To failed: local jobs that are submitting, submitted, running, completing, completed or killed. Those that a " +
		"batch system may have are killed first, and fail once it has ended them. With --force, submitted and running " +
		"ones fail now, and their batch jobs are cancelled once: only for a batch system that is gone for good. The " +
		"result of a completed one no longer counts. To completed: local jobs that failed.\n\n" +
		"The id of a grid job, a range or a filter means the local jobs that can be forced. Their grid job must not be " +
		"over. It prints a line for each: ID forced N to STATE, ID no-change (they are in that state, which is a " +
		"success), or ID error KIND TEXT. Above 100 jobs it asks, or wants --yes. For the owner and administrators."
}

// Run carries out jjm force-status.
func (f *forceState) Run(c *cli) error {
	last := len(f.Words) - 1
	how := wire.ForceHow{To: f.Words[last], Reason: f.Why, Now: f.Force, DryRun: f.Dry}
	if how.To != jjm.Completed.String() && how.To != jjm.Failed.String() {
		return usage("%.40q: want completed or failed as the last word, such as jjm force-status 17.3 failed", how.To)
	}
	jobs := many{Dry: f.Dry, Yes: f.Yes, JSON: f.JSON, Refs: f.Words[:last], filters: f.filters, place: f.place}
	refs, err := jobs.choose(c, selection.ToForce, "")
	if err != nil {
		return err
	}
	all := results[wire.Forced]{c: c, command: "force-status",
		ask: func(refs []string) ([]wire.Forced, error) {
			a, err := ask(c, f.place, wire.VerbForceStatus(),
				wire.ForceStatusRequest{Many: wire.Refs(refs...), ForceHow: how})
			return a.Forced, err
		},
		outcome: func(one wire.Forced) *wire.Error { return one.Error },
		show: func(one wire.Forced) error {
			if f.JSON {
				return c.printJSON(one)
			}
			_, err := c.out.WriteString(forcedLine(one, how) + "\n" + noteLines(one.Notes))
			return err
		}}
	return all.of(inChunks(refs))
}

func forcedLine(f wire.Forced, how wire.ForceHow) string {
	if f.Error != nil {
		return fmt.Sprintf("%s error %s %s", field(f.Ref), f.Error.Kind, plain.Printable(f.Error.Text))
	}
	text := fmt.Sprintf("%s forced %d to %s", field(f.Ref), f.Jobs, how.To)
	switch {
	case f.NoChange:
		text = field(f.Ref) + " no-change"
	case how.DryRun:
		text = fmt.Sprintf("%s would force %d to %s", field(f.Ref), f.Jobs, how.To)
	}
	if f.Killing > 0 {
		text += fmt.Sprintf("; %s killed first", jjm.Count(f.Killing, "local job"))
	}
	if f.Left > 0 {
		text += fmt.Sprintf("; %s as before: %s", jjm.Count(f.Left, "local job"), plain.Printable(f.LeftWhy))
	}
	return text
}
