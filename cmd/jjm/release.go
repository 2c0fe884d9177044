package main

import (
	"fmt"

	"jjm/wire"
)

// release lets held jobs go on.
type release struct {
	JSON bool     `name:"json" help:"One JSON object per line."`
	Refs []string `arg:"" name:"ID" help:"Grid jobs or local jobs."`

	place
}

// Help is the rest of its help.
func (*release) Help() string {
	return "A local job that its application put on hold gets its next attempt, with the arguments that it asked for; one that its " +
		"batch system holds is released there. An id of a grid job means all that is held of it. One line each: ID released N, " +
		"ID no-change (nothing of it is held, which is a success), or ID error KIND TEXT. For the owner and administrators."
}

// Run implements the command.
func (r *release) Run(c *cli) error {
	if err := checkRefs(r.Refs, false); err != nil {
		return err
	}
	a, err := ask(c, r.place, wire.VerbRelease(), wire.ReleaseRequest{Refs: r.Refs})
	if err != nil {
		return err
	}
	var first error
	for _, released := range a.Release {
		if released.Error != nil && first == nil {
			first = released.Error.Err()
		}
		if r.JSON {
			err = c.printJSON(released)
		} else {
			_, err = fmt.Fprintln(c.out, releaseLine(released))
		}
		if err != nil {
			return err
		}
	}
	return first
}

func releaseLine(r wire.Released) string {
	switch {
	case r.Error != nil:
		return fmt.Sprintf("%s error %s %s", field(r.Ref), r.Error.Kind, printable(r.Error.Text))
	case r.NoChange:
		return field(r.Ref) + " no-change"
	}
	return fmt.Sprintf("%s released %d", field(r.Ref), r.Jobs)
}
