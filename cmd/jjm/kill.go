package main

import (
	"fmt"

	"jjm/wire"
)

// kill asks for the end of jobs.
type kill struct {
	JSON bool     `name:"json" help:"One JSON object per line."`
	Refs []string `arg:"" name:"ID" help:"Grid jobs or local jobs."`

	place
}

// Help is the rest of its help.
func (*kill) Help() string {
	return "The wish is stored and carried out: lookup tells when the jobs are gone. One line each: ID accepted, " +
		"ID no-change (it was over already, which is a success), or ID error KIND TEXT. Local jobs that are still to be made " +
		"are busy and nothing is done: try again, or kill the grid job, which works at any time."
}

// Run implements the command.
func (k *kill) Run(c *cli) error {
	if err := checkRefs(k.Refs, false); err != nil {
		return err
	}
	a, err := ask(c, k.place, wire.VerbKill(), wire.KillRequest{Refs: k.Refs})
	if err != nil {
		return err
	}
	var first error
	for _, killed := range a.Kill {
		if killed.Error != nil && first == nil {
			first = killed.Error.Err()
		}
		if k.JSON {
			err = c.printJSON(killed)
		} else {
			_, err = fmt.Fprintln(c.out, killLine(killed))
		}
		if err != nil {
			return err
		}
	}
	return first
}

func killLine(k wire.Killed) string {
	switch {
	case k.Error != nil:
		return fmt.Sprintf("%s error %s %s", field(k.Ref), k.Error.Kind, printable(k.Error.Text))
	case k.NoChange:
		return field(k.Ref) + " no-change"
	}
	return field(k.Ref) + " accepted"
}
