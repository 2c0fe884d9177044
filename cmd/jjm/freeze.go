package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// freeze freezes local jobs that are over.
type freeze struct{ many }

// Help returns the text of --help below the usage.
func (*freeze) Help() string {
	return "A frozen local job stays as it is until jjm unfreeze: it is not resubmitted, retracted, forced or run again " +
		"by itself. A completed local job becomes completed_frozen and still counts as completed. A failed or killed " +
		"local job becomes failed_frozen. The id of a grid job means its local jobs that are over; the grid job itself " +
		"must not be over. The command prints a line for each id: ID frozen N, ID no-change (they are frozen already, " +
		"which is a success), or ID error KIND TEXT; and below it, which local jobs stay as they are and why. For the " +
		"owner and administrators.\n\n" +
		"Filters select local jobs that can be frozen among the ids or, without any, among all your jobs (an " +
		"administrator's: all jobs). Above 100 jobs it asks, or wants --yes. jjm freeze 17 --job-state failed " +
		"--dry-run shows what would be frozen."
}

// Run carries out jjm freeze.
func (f *freeze) Run(c *cli) error {
	how := wire.FreezeHow{DryRun: f.Dry}
	return f.change(c, selection.ToFreeze, "frozen", func(refs []string) ([]wire.Frozen, error) {
		a, err := ask(c, f.place, wire.VerbFreeze(), wire.FreezeRequest{Many: wire.Refs(refs...), FreezeHow: how})
		return a.Freeze, err
	})
}

// unfreeze ends the freeze of local jobs.
type unfreeze struct{ many }

// Help returns the text of --help below the usage.
func (*unfreeze) Help() string {
	return "A completed_frozen local job is completed again, a failed_frozen local job is failed, also if it was killed " +
		"before it was frozen. The id of a grid job means its frozen local jobs; the grid job itself must not be over. " +
		"The command prints a line for each id: ID unfrozen N, ID no-change (none is frozen, which is a success), or " +
		"ID error KIND TEXT. A local job that is named and was killed, or is not over, is refused. For the owner and " +
		"administrators.\n\n" +
		"Filters select frozen local jobs among the ids or, without any, among all your jobs (an administrator's: all " +
		"jobs). Above 100 jobs it asks, or wants --yes."
}

// Run carries out jjm unfreeze.
func (u *unfreeze) Run(c *cli) error {
	how := wire.FreezeHow{DryRun: u.Dry}
	return u.change(c, selection.ToUnfreeze, "unfrozen", func(refs []string) ([]wire.Frozen, error) {
		a, err := ask(c, u.place, wire.VerbUnfreeze(), wire.UnfreezeRequest{Many: wire.Refs(refs...), FreezeHow: how})
		return a.Unfreeze, err
	})
}

// change freezes or unfreezes the selected jobs, and prints the results. ask sends a request of the command, and done
// is the participle for the output: "frozen" or "unfrozen".
func (m *many) change(c *cli, command selection.Purpose, done string, ask func([]string) ([]wire.Frozen, error)) error {
	refs, err := m.choose(c, command, "")
	if err != nil {
		return err
	}
	jobs := 0
	all := results[wire.Frozen]{c: c, command: string(command), ask: ask,
		outcome: func(one wire.Frozen) *wire.Error { return one.Error },
		show: func(one wire.Frozen) error {
			jobs += one.Jobs
			if m.JSON {
				return c.printJSON(one)
			}
			_, err := c.out.WriteString(frozenLines(one, done, m.Dry))
			return err
		}}
	err = all.of(inChunks(refs))
	if m.Dry && len(refs) > 1 {
		c.say("in all %s would be %s", jjm.Count(jobs, "local job"), done)
	}
	return err
}

func frozenLines(f wire.Frozen, done string, dry bool) string {
	text := fmt.Sprintf("%s %s %d\n", field(f.Ref), done, f.Jobs)
	switch {
	case f.Error != nil:
		return fmt.Sprintf("%s error %s %s\n", field(f.Ref), f.Error.Kind, plain.Printable(f.Error.Text))
	case f.NoChange:
		text = field(f.Ref) + " no-change\n"
	case dry:
		text = fmt.Sprintf("%s would be %s: %s\n", field(f.Ref), done, jjm.Count(f.Jobs, "local job"))
	}
	return text + noteLines(f.Notes) + leftLines(f.Left, f.LeftOut)
}
