package main

import (
	"fmt"
	"os"
	"path/filepath"

	"jjm/wire"
)

// retract says of outputs that they are lost.
type retract struct {
	Reason   string   `placeholder:"WHY" help:"Why they are lost."`
	Dry      bool     `name:"dry-run" help:"Only say what it would do."`
	Recovery string   `placeholder:"FILE" help:"Of a grid job that is over, write a job file that makes them again to this file, which must not exist; long lists go beside it."`
	JSON     bool     `name:"json" help:"Answer as one line of JSON."`
	ID       string   `arg:"" name:"ID" help:"The grid job."`
	Outputs  []string `arg:"" name:"OUTPUT" help:"What is lost."`

	place
}

// Help is the rest of its help.
func (*retract) Help() string {
	return "An OUTPUT is named as in the tar of the grid job. With it is lost all that the same local job made, and with a merged file all that " +
		"is in it: what these local jobs did does not count any more. A grid job that lives, reads datasets and merges nothing makes it again at once, by new local jobs. Of one that " +
		"is over, jjm verify tells it as missing from then on, and --recovery writes a job file that makes it again. It is done once and for good; the history " +
		"tells who did it and why. It prints LOCALJOB retracted, and which local job makes it again; then lost OUTPUT for each that is lost. For the owner and administrators."
}

// Run implements the command.
func (r *retract) Run(c *cli) error {
	id := r.ID
	if err := checkRefs([]string{id}, true); err != nil {
		return err
	}
	w := &wire.Retract{Outputs: r.Outputs, Reason: r.Reason, DryRun: r.Dry}
	if r.Recovery != "" {
		w.Recovery = filepath.Base(r.Recovery)
		if _, err := os.Lstat(r.Recovery); err == nil {
			return usage("%s exists: name another file, or remove it", r.Recovery)
		}
	}
	a, err := ask(c, r.place, wire.VerbRetract(), wire.RetractRequest{One: wire.Of(id), Retract: w})
	if err != nil {
		return err
	}
	got := a.Retracted
	if err := writeRecovery(r.Recovery, got.Recovery, got.RecoveryFiles, got.RecoveryRanges); err != nil {
		return err
	}
	if r.JSON {
		return c.printJSON(got)
	}
	return r.print(c, got)
}

// print tells what it came to.
func (r *retract) print(c *cli, got *wire.Retracted) error {
	over := false
	for _, l := range got.Locals {
		text := l.Local + " retracted"
		if l.Before {
			text = l.Local + " no-change"
		}
		if over = over || l.Next == ""; l.Next != "" {
			text += ", " + l.Next + " makes it again"
		}
		if _, err := fmt.Fprintln(c.out, text); err != nil {
			return err
		}
	}
	for _, name := range got.Lost {
		if _, err := fmt.Fprintln(c.out, "lost "+field(name)); err != nil {
			return err
		}
	}
	switch {
	case got.Recovery != "":
		c.say("%s makes them again: jjm submit %s", r.Recovery, r.Recovery)
	case r.Recovery != "" && !r.Dry:
		c.say("grid job %s has a recovery that makes them again: jjm verify %s", got.ID, got.ID)
	case over:
		c.say("grid job %s is over: jjm verify %s --recovery FILE writes a job file that makes them again, and what else is missing", got.ID, got.ID)
	}
	return nil
}
