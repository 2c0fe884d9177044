package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// kill kills jobs.
type kill struct {
	keepGoing
	many
}

// Help returns the text of --help below the usage.
func (*kill) Help() string {
	return "The request is stored and then carried out: lookup shows when the jobs have ended. It prints one line " +
		"for each: ID accepted, ID no-change (it was over already, which is a success), or ID error KIND TEXT. Why nothing " +
		"changed is on standard error. " +
		"Local jobs that jjm has yet to make are answered busy, and nothing is done: try again, or kill the grid " +
		"job, which is always possible.\n\n" +
		"Filters select among the ids or, without any, among all your jobs (an administrator's: all jobs) what is not " +
		"over: whole grid jobs or, with a filter of local jobs, these. Above 100 jobs it asks, or wants --yes. With " +
		"--no-keep-going it stops at the first error. jjm kill 17 --job-state running --host 'node7*' --dry-run shows what " +
		"would be killed."
}

// Run carries out jjm kill.
func (k *kill) Run(c *cli) error {
	refs, err := k.choose(c, selection.ToKill, "")
	if err != nil {
		return err
	}
	how, killed := wire.KillHow{DryRun: k.Dry, Stop: !k.KeepGoing}, 0
	r := results[wire.Killed]{c: c, command: "kill", stop: how.Stop,
		ask: func(refs []string) ([]wire.Killed, error) {
			a, err := ask(c, k.place, wire.VerbKill(), wire.KillRequest{Many: wire.Refs(refs...), KillHow: how})
			return a.Kill, err
		},
		outcome: func(one wire.Killed) *wire.Error { return one.Error },
		show: func(one wire.Killed) error {
			killed += one.Jobs
			if k.JSON {
				return c.printJSON(one)
			}
			for _, note := range one.Notes { // programs read one line for each job from standard output
				c.say("%s", plain.Printable(note))
			}
			_, err := fmt.Fprintln(c.out, killLine(one, k.Dry))
			return err
		}}
	err = r.of(inChunks(refs))
	if k.Dry && len(refs) > 1 {
		c.say("in all %s would be killed", jjm.Count(killed, "local job"))
	}
	return err
}

func killLine(k wire.Killed, dry bool) string {
	switch {
	case k.Error != nil:
		return fmt.Sprintf("%s error %s %s", field(k.Ref), k.Error.Kind, plain.Printable(k.Error.Text))
	case k.NoChange:
		return field(k.Ref) + " no-change"
	case dry:
		return fmt.Sprintf("%s would be killed: %s", field(k.Ref), jjm.Count(k.Jobs, "local job"))
	}
	return field(k.Ref) + " accepted"
}
