package main

import (
	"fmt"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// set changes the resources and the priority of waiting local jobs.
type set struct {
	requested
	Priority *int `placeholder:"N" help:"Among the waiting local jobs of their owner, greater numbers are submitted first: -1000 to 1000, 0 if never set."`
	many
}

// Help returns the text of --help below the usage.
func (*set) Help() string {
	return "Local jobs that wait for their first or next submission, or are held before it, request other resources in " +
		"all attempts that follow; values and limits are those of a job file. A value that is not set stays as it was. " +
		"The id of a grid job means all its waiting local jobs, and those that are still to be made.\n\n" +
		"Local jobs that run or are queued in a batch system keep what they requested. jjm hold takes queued ones back " +
		"first, and jjm release lets them go on; else jjm kill and jjm resubmit change them. --priority orders the local " +
		"jobs of one owner only: it takes nothing from other owners, and a batch system that has a job does not learn " +
		"of it.\n\n" +
		"It prints a line for each grid job: ID set N with the values, ID no-change (nothing waits, which is a success), " +
		"or ID error KIND TEXT; and below it, which local jobs stay as they are and why. For the owner and " +
		"administrators.\n\n" +
		"Filters select waiting local jobs among the ids or, without any, among all your jobs (an administrator's: all " +
		"jobs). Above 100 jobs it asks, or wants --yes. jjm set --cluster slurm --walltime 12h --dry-run shows what would " +
		"be changed."
}

// Run carries out jjm set.
func (s *set) Run(c *cli) error {
	asked, err := s.resources()
	if err != nil {
		return err
	}
	if asked == nil && s.Priority == nil {
		return usage("what is to be changed? Want --memory, --walltime, --queue, --to-cluster or --priority")
	}
	refs, err := s.choose(c, selection.ToSet, "")
	if err != nil {
		return err
	}
	how, grids, jobs := wire.SetHow{Resources: asked, Priority: s.Priority, DryRun: s.Dry}, 0, 0
	all := results[wire.Changed]{c: c, command: "set",
		ask: func(refs []string) ([]wire.Changed, error) {
			a, err := ask(c, s.place, wire.VerbSet(), wire.SetRequest{Many: wire.Refs(refs...), SetHow: how})
			for i := range a.Set {
				nameFlags(a.Set[i].Error)
			}
			return a.Set, err
		},
		outcome: func(one wire.Changed) *wire.Error { return one.Error },
		show: func(one wire.Changed) error {
			grids, jobs = grids+1, jobs+one.Jobs
			if s.JSON {
				return c.printJSON(one)
			}
			_, err := c.out.WriteString(setLines(one, how))
			return err
		}}
	err = all.of(byGrid(refs))
	if s.Dry && grids > 1 {
		c.say("in all %s would be changed", jjm.Count(jobs, "local job"))
	}
	return err
}

// setLines returns the lines about one grid job.
func setLines(r wire.Changed, how wire.SetHow) string {
	did := fmt.Sprintf("set %d%s", r.Jobs, valuesText(how, r.Later))
	if how.DryRun {
		did = "would " + did
	}
	return gridLines(r.ID, r.Error, r.NoChange, did, noteLines(r.Notes), leftLines(r.Left, r.LeftOut))
}

// valuesText returns " with" and the values that the command sets. later is set if local jobs that are made later get
// these values too.
func valuesText(how wire.SetHow, later bool) string {
	var values []string
	if how.Resources != nil {
		values = append(values, plain.Printable(how.Resources.String()))
	}
	if how.Priority != nil {
		values = append(values, fmt.Sprintf("priority %d", *how.Priority))
	}
	text := " with " + strings.Join(values, ", ")
	if later {
		text = ", and the local jobs still to be made," + text
	}
	return text
}
