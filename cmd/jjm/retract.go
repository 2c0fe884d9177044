package main

import (
	"fmt"
	"os"
	"path/filepath"

	"jjm/internal/api/wire"
)

// retract declares outputs lost.
type retract struct {
	Reason   string   `placeholder:"WHY" help:"Why they are lost. A retraction needs a reason."`
	Dry      bool     `name:"dry-run" help:"Change nothing; show what would be done."`
	New      bool     `name:"new-output" help:"Do not reopen a grid job that is over: a new one is to make them again."`
	Recovery string   `placeholder:"FILE" help:"As --new-output, and write the job file of the new one to this file, which must not exist; long lists go beside it."`
	JSON     bool     `name:"json" help:"Answer as one line of JSON."`
	ID       string   `arg:"" name:"ID" help:"The grid job."`
	Outputs  []string `arg:"" name:"OUTPUT" help:"What is lost."`

	place
}

// Help returns the text of --help below the usage.
func (*retract) Help() string {
	return "An OUTPUT has its name in the tar of the grid job. All outputs of the same local job are lost with it, " +
		"and if it is merged, those of all local jobs in it: their results no longer count. If the grid job is " +
		"not over, reads datasets and merges nothing, new local jobs make them again at once. If it is over, it is " +
		"reopened and makes them again in its next generation, which gets a tar of its own. With --new-output it stays " +
		"as it is: jjm verify reports them as missing from then on, and --recovery writes a job file that makes them " +
		"again. A retraction cannot be undone; the history says who did it and why. It prints LOCALJOB retracted and " +
		"who makes the outputs again, then lost OUTPUT for each. For the owner and administrators."
}

// Run carries out jjm retract.
func (r *retract) Run(c *cli) error {
	if r.Reason == "" && !r.Dry {
		return usage(lossReason)
	}
	id, err := r.one(c, "retract", r.ID, true, false)
	if err != nil {
		return err
	}
	w := &wire.Retract{Outputs: r.Outputs, Reason: r.Reason, DryRun: r.Dry, NewOutput: r.New}
	if r.Recovery != "" {
		w.Recovery = filepath.Base(r.Recovery)
		if _, err := os.Lstat(r.Recovery); err == nil {
			return usage("%s exists: name another file, or remove it", r.Recovery)
		}
	}
	a, err := ask(c, r.place, wire.VerbRetract(), wire.RetractRequest{One: wire.OneRef(id), Retract: w})
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

// print prints a line for each local job whose results no longer count, with the local job or the generation that makes
// the outputs again, and a line for each lost output.
func (r *retract) print(c *cli, got *wire.Retracted) error {
	over := false
	for _, l := range got.Locals {
		text := l.Local + " retracted"
		if l.Before && got.Generation == 0 {
			text = l.Local + " no-change"
		}
		over = over || l.Next == "" && got.Generation == 0
		switch {
		case l.Next != "":
			text += ", " + l.Next + " makes it again"
		case got.Generation > 0:
			text += fmt.Sprintf(", generation %d makes it again", got.Generation)
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
	for _, note := range got.Notes {
		c.say("%s", note)
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
