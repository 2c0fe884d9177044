package main

import (
	"flag"
	"fmt"

	"jjm/wire"
)

// release lets held jobs go on.
type release struct {
	place
	JSON bool
	Refs []string
}

func (r *release) flags(fs *flag.FlagSet) {
	r.place.flags(fs)
	fs.BoolVar(&r.JSON, "json", false, "One JSON object per line.")
}

func (r *release) take(words []string) { r.Refs = words }

func releaseCommand() command {
	return command{
		name: "release", args: "ID...", min: 1, max: -1, summary: "Let held jobs go on; of what is not held, no change",
		detail: "A local job that its application put on hold gets its next attempt, with the arguments that it asked for; one that its " +
			"batch system holds is released there. An id of a grid job means all that is held of it. One line each: ID released N, " +
			"ID no-change (nothing of it is held, which is a success), or ID error KIND TEXT. For the owner and administrators.",
		example: "jjm release 17.3",
		make:    func() verb { return &release{} },
	}
}

func (r *release) run(c *cli) error {
	if err := checkRefs(r.Refs, false); err != nil {
		return err
	}
	a, err := r.ask(c, wire.Request{Verb: wire.VerbRelease, Refs: r.Refs})
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
