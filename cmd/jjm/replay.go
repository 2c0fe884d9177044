package main

import (
	"errors"
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
)

// replayJob runs the type of a grid job again and compares the type's answers with the stored answers.
type replayJob struct {
	ID   string `arg:"" name:"ID" help:"The grid job."`
	JSON bool   `name:"json" help:"Answer as one line of JSON."`

	place
}

// Help returns the text of --help below the usage.
func (*replayJob) Help() string {
	return "jjm asks the job type again for its description, the plan, the check of the job file, the files to pack " +
		"and the parts, and compares the answers with the stored answers. The differences show what a changed type " +
		"would do differently. Nothing is changed. Exit code 0 if all answers are the same, 1 if not."
}

// Run carries out jjm job-types replay.
func (r *replayJob) Run(c *cli) error {
	var err error
	if r.ID, err = r.one(c, "replay", r.ID, true, false); err != nil {
		return err
	}
	a, err := ask(c, r.place, wire.VerbReplay(), wire.ReplayRequest{One: wire.OneRef(r.ID)})
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

// printReplay prints a line for each check, and the findings of the check below it.
func (c *cli) printReplay(r *wire.Replayed) (err error) {
	say := func(format string, args ...any) {
		_, e := fmt.Fprintf(c.out, format, args...)
		err = errors.Join(err, e)
	}
	for _, check := range r.Checks {
		word := "ok"
		if len(check.Findings) > 0 {
			word = "FAILED"
		}
		say("%s: %s", word, plain.Printable(check.Name))
		if check.Note != "" {
			say(": %s", plain.Printable(check.Note))
		}
		say("\n")
		for _, f := range check.Findings {
			say("    %s\n", plain.Printable(f))
		}
	}
	return err
}
