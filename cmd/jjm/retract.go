package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"jjm"
	"jjm/wire"
)

// retract says of outputs that they are lost.
type retract struct {
	place
	Reason   string
	Dry      bool
	Recovery string
	JSON     bool
	Words    []string
}

func (r *retract) flags(fs *flag.FlagSet) {
	r.place.flags(fs)
	fs.StringVar(&r.Reason, "reason", "", "`WHY` they are lost.")
	fs.BoolVar(&r.Dry, "dry-run", false, "Only say what it would do.")
	fs.StringVar(&r.Recovery, "recovery", "", "Of a grid job that is over, write a job file that makes them again to this `FILE`, which must not exist; long lists go beside it.")
	fs.BoolVar(&r.JSON, "json", false, "Answer as one line of JSON.")
}

func (r *retract) take(words []string) { r.Words = words }

func retractCommand() command {
	return command{
		name: "retract", args: "ID OUTPUT...", min: 2, max: -1, summary: "Say that outputs were lost, so that they are made again",
		detail: "An OUTPUT is named as in the tar of the grid job. With it is lost all that the same local job made, and with a merged file all that " +
			"is in it: what these local jobs did does not count any more. A grid job that lives, reads datasets and merges nothing makes it again at once, by new local jobs. Of one that " +
			"is over, jjm verify tells it as missing from then on, and --recovery writes a job file that makes it again. It is done once and for good; the history " +
			"tells who did it and why. It prints LOCALJOB retracted, and which local job makes it again; then lost OUTPUT for each that is lost. For the owner and administrators.",
		example: "jjm retract 17 mc.17.3.out.root --reason 'disk 7 is gone' --dry-run",
		make:    func() verb { return &retract{} },
	}
}

func (r *retract) run(c *cli) error {
	id := r.Words[0]
	if err := checkRefs([]string{id}, true); err != nil {
		return err
	}
	w := &wire.Retract{Outputs: r.Words[1:], Reason: r.Reason, DryRun: r.Dry}
	if r.Recovery != "" {
		w.Recovery = filepath.Base(r.Recovery)
		if _, err := os.Lstat(r.Recovery); err == nil {
			return usage("%s exists: name another file, or remove it", r.Recovery)
		}
	}
	a, err := r.ask(c, wire.Request{Verb: wire.VerbRetract, Refs: []string{id}, Retract: w})
	if err != nil {
		return err
	}
	got := a.Retracted
	if got == nil {
		return jjm.Errorf(jjm.Internal, "the daemon's answer holds nothing about outputs: is it of another version?")
	}
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
