package main

import (
	"errors"
	"fmt"

	"jjm/wire"
)

// replayJob asks the type of a grid job anew.
type replayJob struct {
	ID   string `arg:"" name:"ID" help:"The grid job."`
	JSON bool   `name:"json" help:"Answer as one line of JSON."`

	place
}

// Help is the rest of its help.
func (*replayJob) Help() string {
	return "It asks for the description, the plan, the check of the job file, the files to pack and the cut once more, and holds the parts " +
		"against those that are stored: what a type that was changed would do otherwise is told. Nothing is changed. " +
		"Exit code 0 if all is as it was, 1 if not."
}

// Run implements the command.
func (r *replayJob) Run(c *cli) error {
	if err := checkRefs([]string{r.ID}, true); err != nil {
		return err
	}
	a, err := ask(c, r.place, wire.VerbReplay(), wire.ReplayRequest{One: wire.Of(r.ID)})
	if err != nil {
		return err
	}
	if r.JSON {
		err = c.printJSON(a.Replay)
	} else {
		err = c.printReplay(a.Replay)
	}
	if err != nil {
		return err
	}
	if !a.Replay.Same() {
		return &exit{code: exitNo}
	}
	return nil
}

// printReplay tells what was asked, a line each, and below it what was found.
func (c *cli) printReplay(r *wire.Replayed) (err error) {
	say := func(format string, args ...any) {
		_, e := fmt.Fprintf(c.out, format, args...)
		err = errors.Join(err, e)
	}
	for _, check := range r.Checks {
		word := "ok  "
		if len(check.Findings) > 0 {
			word = "FAIL"
		}
		say("%s  %s", word, printable(check.Name))
		if check.Note != "" {
			say(": %s", printable(check.Note))
		}
		say("\n")
		for _, f := range check.Findings {
			say("      %s\n", printable(f))
		}
	}
	return err
}
