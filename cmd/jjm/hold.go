package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// hold holds jobs. Its flag --reason is the reason of the hold, and not a filter.
type hold struct {
	many `set:"reason_form=TEXT" set:"reason_help=Why they are held, for people."`
}

// Help returns the text of --help below the usage.
func (*hold) Help() string {
	return "A local job that waits is held until somebody releases it (jjm release), at most as long as the site lets " +
		"holds last. A local job that is queued in the batch system is taken back from there, and loses its place in the " +
		"queue. A local job that runs goes on; if it were tried again, the next attempt would wait. The id of a grid job " +
		"means all its local jobs that have not ended. It prints one line for each: ID held N, ID no-change (none can be " +
		"held, which is a success), or ID error KIND TEXT; and below it, which local jobs stay as they are and why. For " +
		"the owner and administrators.\n\n" +
		"Filters select local jobs that are neither over nor held among the ids or, without any, among all your jobs (an " +
		"administrator's: all jobs). Above 100 jobs it asks, or wants --yes. jjm hold --cluster slurm --reason 'new " +
		"disks' --dry-run shows what would be held."
}

// Run carries out jjm hold.
func (h *hold) Run(c *cli) error {
	how := wire.HoldHow{Reason: h.Reason, DryRun: h.Dry}
	h.Reason = "" // so that choose does not use the reason as a filter
	refs, err := h.choose(c, selection.ToHold, "")
	if err != nil {
		return err
	}
	jobs := 0
	all := results[wire.Held]{c: c, command: "hold",
		ask: func(refs []string) ([]wire.Held, error) {
			a, err := ask(c, h.place, wire.VerbHold(), wire.HoldRequest{Many: wire.Refs(refs...), HoldHow: how})
			return a.Hold, err
		},
		outcome: func(one wire.Held) *wire.Error { return one.Error },
		show: func(one wire.Held) error {
			jobs += one.Jobs
			if h.JSON {
				return c.printJSON(one)
			}
			_, err := c.out.WriteString(holdLines(one, h.Dry))
			return err
		}}
	err = all.of(inChunks(refs))
	if h.Dry && len(refs) > 1 {
		c.say("in all %s would be held", jjm.Count(jobs, "local job"))
	}
	return err
}

func holdLines(h wire.Held, dry bool) string {
	var text string
	switch {
	case h.Error != nil:
		return fmt.Sprintf("%s error %s %s\n", field(h.Ref), h.Error.Kind, plain.Printable(h.Error.Text))
	case h.NoChange:
		text = field(h.Ref) + " no-change\n"
	case dry:
		text = fmt.Sprintf("%s would be held: %s\n", field(h.Ref), jjm.Count(h.Jobs, "local job"))
	default:
		text = fmt.Sprintf("%s held %d\n", field(h.Ref), h.Jobs)
	}
	if h.Later > 0 {
		text += fmt.Sprintf("  running, so not held before a next attempt: %s\n", jjm.Count(h.Later, "local job"))
	}
	return text + noteLines(h.Notes) + leftLines(h.Left, h.LeftOut)
}

// leftLines returns a line for each local job that a command did not change, with the reason, and a line with the
// number of further such local jobs.
func leftLines(left []wire.Left, leftOut int) (text string) {
	for _, l := range left {
		text += fmt.Sprintf("  %s stays: %s\n", field(l.Local), plain.Printable(l.Why))
	}
	if leftOut > 0 {
		text += fmt.Sprintf("  and %s more\n", jjm.Count(leftOut, "local job"))
	}
	return text
}
